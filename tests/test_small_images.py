"""Pictograms: how they are split, and what is counted of their colours."""

import torch

from experiments.lab import RunContext
from experiments.small_images import FOLDS, colours_of, in_grey, read
from transformer_course.data.images import ImageSet

SMOKE = RunContext(folder=None, smoke=True)


def test_after_all_seeds_each_image_was_held_out_once():
    parts = [read("colour", seed, SMOKE) for seed in range(FOLDS)]
    whole = torch.cat([part.images for part in parts[0]])
    asked = torch.cat([held.images for _, held in parts])
    same = (asked[:, None] == whole).flatten(2).all(dim=2)
    assert len(asked) == len(whole)
    assert same.any(dim=0).all()
    for known, held in parts:
        assert len(known) + len(held) == len(whole)


def test_colours_are_counted_wherever_they_stand():
    torch.manual_seed(0)
    pixels = torch.randint(256, (2, 3, 4, 4), dtype=torch.uint8)
    images = ImageSet(pixels, torch.tensor([0, 1]), ("a", "b"))
    moved = ImageSet(pixels.flip(3), images.labels, images.names)
    other = ImageSet(pixels.flip(1), images.labels, images.names)
    assert (colours_of(images) == colours_of(moved)).all()
    assert (colours_of(images) != colours_of(other)).any()


def test_grey_is_the_mean_of_the_channels():
    pixels = torch.tensor([30, 60, 90], dtype=torch.uint8)
    images = ImageSet(pixels.view(1, 3, 1, 1), torch.tensor([0]), ("a",))
    assert in_grey(images).images.flatten().tolist() == [60]
