"""What tasks share that teach a model to tell classes apart."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.training.config import Experiment, TrainConfig
from transformer_course.training.loss import Score, class_score
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

    def objective(self, model: nn.Module, batch, config: TrainConfig) -> Score:
        return self.score(model, batch, config.label_smoothing)

    def score(self, model: nn.Module, batch, smoothing: float = 0.0) -> Score:
        """Cross entropy in nats, and right answers, summed over the batch."""
        return class_score(self.logits(model, batch), batch.labels, smoothing)

    def quality(self, metrics: dict[str, float]) -> float:
        return metrics["accuracy"]
