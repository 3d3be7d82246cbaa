"""What tasks share that teach a model to tell classes apart."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.training.config import Experiment, TrainConfig
from transformer_course.training.loss import LossSums, classification_loss
from transformer_course.training.tasks.task import Task, require_read_once


class Classification(Task):
    """One class for each text or image; judged by the share of right ones."""

    prompted = "src"
    gives = "classes"

    @abstractmethod
    def logits(
        self, model: nn.Module, batch
    ) -> Float[Tensor, "batch classes"]:
        """What a model makes of a batch."""

    def check(self, experiment: Experiment) -> None:
        super().check(experiment)
        require_read_once(experiment)
        if experiment.train.peak_rate is None:
            raise ConfigError(
                "peak_rate is None, and the paper's rate is for translators: "
                "give one, for instance --train.peak-rate 1e-3."
            )

    def loss(self, model: nn.Module, batch, config: TrainConfig) -> LossSums:
        logits, smoothing = self.logits(model, batch), config.label_smoothing
        return classification_loss(logits, batch.labels, smoothing)

    def quality(self, metrics: dict[str, float]) -> float:
        return metrics["accuracy"]
