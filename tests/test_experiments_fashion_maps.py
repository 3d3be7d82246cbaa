"""What maps are judged by: ranks, shuffled weights, blackened places."""

import pytest
import torch
from tiny import close

from experiments.fashion_maps import (
    blackened,
    brightness,
    deletion,
    interval,
    shuffle,
    stages,
)
from transformer_course import checkpoint
from transformer_course.attribution import rank_correlation, ranks
from transformer_course.image_config import ConvolutionalConfig, VisionConfig

VISION = VisionConfig(
    image_size=8, patch_size=4, d_model=16, n_heads=2, d_ff=32, n_layers=2
)
CONVOLUTIONAL = ConvolutionalConfig(width=8, n_blocks=2, image_size=8)


def test_equal_numbers_share_their_rank():
    given = torch.tensor([[3.0, 1.0, 1.0, 7.0]])
    assert ranks(given).tolist() == [[2.0, 0.5, 0.5, 3.0]]


def test_ranks_are_compared_not_numbers():
    one = torch.tensor([[1.0, 2.0, 3.0]]).repeat(4, 1)
    other = torch.tensor(
        [[1.0, 8.0, 9.0], [3.0, 2.0, 1.0], [5.0, 5.0, 5.0], [2.0, 1.0, 3.0]]
    )
    close(rank_correlation(one, other), torch.tensor([1.0, -1.0, 0.0, 0.5]))


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (VISION, ["last map", "layer 2", "layer 1", "patches"]),
        (CONVOLUTIONAL, ["last map", "layer 2", "layer 1"]),
    ],
)
def test_stages_are_shuffled_from_the_last_one_down(config, names):
    model = checkpoint.build(config)
    found = stages(model)
    assert list(found) == names
    generator = torch.Generator().manual_seed(0)
    for part in found.values():
        before = [weight.clone() for weight in part.parameters()]
        shuffle(part, generator)
        for was, weight in zip(before, part.parameters(), strict=True):
            close(weight.flatten().sort()[0], was.flatten().sort()[0])
    left = {id(w) for w in model.parameters()}
    for part in found.values():
        left -= {id(w) for w in part.parameters()}
    rest = [n for n, w in model.named_parameters() if id(w) in left]
    assert all(
        name.startswith(("class_token", "position", "encoder.norm"))
        for name in rest
    )


def test_the_hottest_places_become_black():
    images = torch.ones(1, 1, 4, 4)
    heat = torch.tensor([[[0.1, 0.9], [0.5, 0.2]]])
    found = blackened(images, heat, 2)[0, 0]
    assert (found[:2, :2] == 1).all() and (found[2:, 2:] == 1).all()
    assert (found[:2, 2:] == -1).all() and (found[2:, :2] == -1).all()


def test_brightness_is_the_mean_of_a_place():
    images = torch.arange(16.0).view(1, 1, 4, 4)
    found = brightness(images, torch.zeros(1, 2, 2))
    assert found.tolist() == [[[2.5, 4.5], [10.5, 12.5]]]


def test_a_model_that_sees_one_place_loses_it_by_its_own_map():
    class Corner(torch.nn.Module):
        def forward(self, images):
            seen = images[:, 0, 0, 0]
            return torch.stack([5 * seen, -5 * seen], dim=1)

    images = torch.full((3, 1, 8, 8), 0.5)
    wrong = torch.arange(16.0).view(1, 4, 4).repeat(3, 1, 1)
    right = -wrong
    classes = torch.zeros(3, dtype=torch.long)
    maps = {"right": right, "wrong": wrong}
    found = deletion(Corner(), maps, images, classes)
    left = found["left"]
    assert left["right"][0] == left["wrong"][0] > 0.9
    assert left["right"][1] < 0.1 < 0.9 < left["wrong"][1]
    *_, (lower, _) = found["beside_random"]["right"]  # 10 of 16 places
    *_, (higher, _) = found["beside_random"]["wrong"]
    assert lower < 0 < higher


def test_black_places_are_not_blackened():
    """A map that is hottest where there is nothing to hide."""
    images = torch.full((2, 1, 8, 8), -1.0)
    images[:, :, :4, :4] = 0.5  # four places of sixteen
    heat = torch.arange(16.0).view(1, 4, 4).repeat(2, 1, 1)
    taken = []

    class Watched(torch.nn.Module):
        def forward(self, images):
            taken.append((images > -1).sum().item() // (2 * 4))
            return torch.zeros(2, 2)

    classes = torch.zeros(2, dtype=torch.long)
    found = deletion(Watched(), {"away": heat}, images, classes)
    assert found["places"] == 4
    assert set(taken) == {4, 2, 0}  # all, two hidden, five or more hidden


def test_an_interval_narrows_with_the_root_of_the_number():
    few = torch.tensor([0.1, 0.3]).repeat(50)
    mean, half = interval(few)
    assert mean == pytest.approx(0.2)
    assert half == pytest.approx(1.96 * 0.1 / 10, rel=0.02)
