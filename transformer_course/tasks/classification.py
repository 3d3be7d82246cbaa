"""What tasks share that teach a model to tell classes apart."""

from abc import abstractmethod

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.config import Experiment, TrainConfig
from transformer_course.errors import ConfigError
from transformer_course.loss import Score
from transformer_course.tasks.task import Task


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
        train = experiment.train
        if train.r_drop:
            raise ConfigError(
                f"r_drop is {train.r_drop}, but this task reads each batch "
                "once: leave it out."
            )
        if train.peak_rate is None:
            raise ConfigError(
                "peak_rate is None, and the paper's rate is for translators: "
                "give one, for instance --train.peak-rate 1e-3."
            )

    def objective(self, model: nn.Module, batch, config: TrainConfig) -> Score:
        return self.score(model, batch, config.label_smoothing)

    def score(self, model: nn.Module, batch, smoothing: float = 0.0) -> Score:
        """Cross entropy in nats, and right answers, summed over the batch."""
        logits, right = self.logits(model, batch).float(), batch.labels
        nll = F.cross_entropy(logits, right, reduction="sum")
        loss = F.cross_entropy(
            logits, right, reduction="sum", label_smoothing=smoothing
        )
        correct = (logits.argmax(dim=-1) == right).sum()
        count = torch.tensor(len(right), device=logits.device)
        return Score(loss, nll.detach(), correct, count)

    def quality(self, metrics: dict[str, float]) -> float:
        return metrics["accuracy"]
