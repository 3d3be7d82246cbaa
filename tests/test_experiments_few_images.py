"""What a student of another network is asked for."""

import pytest
import torch
from tiny import close
from torch import nn

from experiments.few_images import TEACHERS, VARIANTS, taught_by
from experiments.lab import Bench
from transformer_course.config import TrainConfig
from transformer_course.image_batches import ImageBatch
from transformer_course.tasks.table import find_task

CONFIG = TrainConfig(label_smoothing=0.1)
LABELS = torch.tensor([0, 1, 2])


class Says(nn.Module):
    """A teacher that is certain of these classes."""

    def __init__(self, answers):
        super().__init__()
        self.answers = torch.tensor(answers)

    def forward(self, images):
        assert not self.training
        return nn.functional.one_hot(self.answers, 3).float()


def student_and_batch():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    return model, ImageBatch(torch.randn(3, 1, 2, 2), LABELS)


@pytest.mark.parametrize("answers", [[0, 1, 2], [2, 1, 0]])
def test_half_of_the_loss_is_the_teachers(answers):
    model, batch = student_and_batch()
    usual = find_task("image_classification").objective
    found = taught_by(Says(answers), usual)(model, batch, CONFIG)
    asked = batch._replace(labels=torch.tensor(answers))
    ours, theirs = (usual(model, b, CONFIG) for b in (batch, asked))
    close(found.loss, (ours.loss + theirs.loss) / 2)
    close(found.nll, ours.nll)
    assert (found.correct, found.tokens) == (ours.correct, ours.tokens)


def test_a_teacher_that_repeats_the_labels_teaches_nothing():
    model, batch = student_and_batch()
    usual = find_task("image_classification").objective
    found = taught_by(Says([0, 1, 2]), usual)(model, batch, CONFIG)
    close(found.loss, usual(model, batch, CONFIG).loss)


def test_a_student_learns_from_its_teachers_images(tmp_path):
    assert all(VARIANTS[name].preset == "fashion-cnn" for name in TEACHERS)
    for one in VARIANTS.values():
        if one.teacher:
            teacher = VARIANTS[one.teacher].settings(0, Bench(tmp_path))
            assert teacher.data == one.settings(0, Bench(tmp_path)).data
