"""Laws of the mask convention: True = may attend."""

import torch
from tiny import on_each_device

from transformer_course.models.masks import (
    causal_mask,
    padding_mask,
)


@on_each_device
def test_padding_mask_is_true_at_real_tokens(device):
    ids = torch.tensor([[5, 6, 0], [7, 0, 0]], device=device)
    mask = padding_mask(ids)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [
        [True, True, False],
        [True] + [False] * 2,
    ]


def test_padding_mask_takes_another_pad_id():
    mask = padding_mask(torch.tensor([[0, 9, 9]]), pad_id=9)
    assert mask.flatten().tolist() == [True, False, False]


@on_each_device
def test_causal_mask_lets_token_i_see_tokens_0_to_i(device):
    mask = causal_mask(4, torch.device(device))
    assert mask.shape == (1, 1, 4, 4)
    assert mask.device.type == device
    for query in range(4):
        for key in range(4):
            assert bool(mask[0, 0, query, key]) == (key <= query)
