"""Laws of what is trained after the text: SFT, LoRA, DPO, GRPO."""

import math

import pytest
import torch
from test_modern import tiny_modern
from tiny import close, on_each_device

from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.errors import ConfigError
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import train_step
from transformer_course.training.loss import batch_loss
from transformer_course.training.post_training import (
    Groups,
    LoRA,
    Pairs,
    Rollouts,
    add_lora,
    advantages,
    answer_batch,
    answer_log_probs,
    clipped_gain,
    dpo_loss,
    draw_answers,
    greedy_answers,
    group_loss,
    merge_lora,
    preference_loss,
    without_lora,
)

ROWS = [
    ([1, 5, 6], [7, 8, EOS]),
    ([1, 9], [4, EOS]),
    ([1, 3, 3, 3, 3], [11, 12, 13, EOS]),
]


def with_lora(learned: bool = True, **changes):
    """A model with LoRA, which has learned something or not."""
    model = add_lora(tiny_modern(**changes))
    for part in model.modules():
        if isinstance(part, LoRA) and learned:
            torch.nn.init.normal_(part.lora_B, std=0.1)
    return model


# --- the loss of answers -----------------------------------------------------


def test_log_probs_of_answers_add_up_to_the_loss():
    model, batch = tiny_modern(), answer_batch(ROWS)
    log_probs = answer_log_probs(model, batch)
    close(-log_probs.sum(), batch_loss(model, batch).loss)


def test_of_several_turns_each_answer_counts():
    turns = [[1, 5], [7, EOS], [8, 6], [4, EOS]]
    batch = answer_batch([turns, [[1, 5], [8]]])
    whole = [1, 5, 7, EOS, 8, 6, 4, EOS]
    assert batch.ids.tolist() == [whole, [1, 5, 8, *[PAD] * 5]]
    wanted = [[0, 7, EOS, 0, 0, 4, EOS], [0, 8, *[PAD] * 5]]
    assert batch.tgt_out.tolist() == wanted


# --- LoRA --------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes", [{}, {"latent": 8}, {"linear": True}, {"n_experts": 4}], ids=str
)
def test_merged_and_unmerged_answer_alike(changes):
    model, ids = with_lora(**changes), torch.tensor([[1, 5, 6, 7]])
    before = model(ids)
    assert (before - tiny_modern(**changes)(ids)).abs().max() > 0.01
    merged = merge_lora(model)
    close(merged(ids), before, 1e-4)
    names = tiny_modern(**changes).state_dict().keys()
    assert merged.state_dict().keys() == names


def test_without_lora_it_is_the_model_of_before_and_then_learns_on():
    model, ids = with_lora(), torch.tensor([[1, 5, 6, 7]])
    after = model(ids)
    with without_lora(model):
        with without_lora(model):
            pass
        close(model(ids), tiny_modern()(ids))
    close(model(ids), after)
    with without_lora(model):
        close(merge_lora(model)(ids), after, 1e-4)


@pytest.mark.parametrize("changes", [{}, {"latent": 8}], ids=str)
def test_only_lora_learns(changes):
    """All of it: B at once, A as soon as B is not zero."""
    model = with_lora(**changes)
    batch_loss(model, answer_batch(ROWS)).loss.backward()
    for name, weight in model.named_parameters():
        learns = name.endswith((".lora_A", ".lora_B"))
        assert (weight.grad is not None) == learns, name
    lora = sum(isinstance(part, LoRA) for part in model.modules())
    plain = tiny_modern(**changes).modules()
    linear = sum(isinstance(layer, torch.nn.Linear) for layer in plain)
    assert lora == linear - 1  # the output is left alone


def test_a_layer_that_stands_in_two_places_gets_one_lora():
    layer, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
    model = add_lora(torch.nn.Sequential(layer, torch.nn.ReLU(), layer))
    torch.nn.init.normal_(model[0].lora_B, std=0.1)
    learned = model(x)
    close(merge_lora(model)(x), learned)


@pytest.mark.parametrize("training", [True, False])
def test_pytorchs_own_layers_take_lora(training):
    """Its attention reads weights and biases of the layers that it has."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    model, x = add_lora(layer.train(training)), torch.randn(2, 3, 8)
    for part in model.modules():
        if isinstance(part, LoRA):
            torch.nn.init.normal_(part.lora_B, std=0.1)
    learned = model(x)
    learned.sum().backward()
    assert model.self_attn.out_proj.lora_A.grad.any()
    close(merge_lora(model)(x), learned)


def test_lora_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no LoRA inside"):
        merge_lora(tiny_modern())
    with pytest.raises(ConfigError, match="no Linear inside"):
        add_lora(torch.nn.LayerNorm(4))
    with pytest.raises(ConfigError, match="rank is 0: expected"):
        add_lora(tiny_modern(), rank=0)
    model = with_lora()
    with pytest.raises(ConfigError, match="has LoRA already"):
        add_lora(model)
    with pytest.raises(ConfigError, match="merge_lora"):
        checkpoint.save(tmp_path / "a", model)
    ids, before = torch.tensor([[1, 5, 6]]), model(torch.tensor([[1, 5, 6]]))
    checkpoint.save(tmp_path / "a", merge_lora(model))
    close(checkpoint.load(tmp_path / "a").model(ids), before, 1e-4)


# --- DPO ---------------------------------------------------------------------


def test_dpo_is_for_the_chosen_answer():
    one, zero = torch.ones(1), torch.zeros(1)
    before, even = (zero, zero), math.log(2)
    assert dpo_loss(one, zero, before) < even < dpo_loss(zero, one, before)


def test_a_step_of_dpo_moves_the_pair_apart():
    model = with_lora(learned=False)
    others = answer_batch([(prompt, [2]) for prompt, _ in ROWS])
    pairs = Pairs(answer_batch(ROWS), others)
    first = preference_loss(model, pairs)
    close(first.loss, 3 * torch.tensor(2.0).log())
    assert first.correct == 0 and first.tokens == 3
    first.loss.backward()
    learning = [p for p in model.parameters() if p.requires_grad]
    torch.optim.SGD(learning, lr=0.01).step()
    second = preference_loss(model, pairs)
    assert second.loss < first.loss and second.correct == 3


# --- GRPO --------------------------------------------------------------------


def test_advantages_of_a_group_sum_to_zero():
    found = advantages(torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0]]))
    close(found[0], torch.tensor([0.75, -0.25, -0.25, -0.25]))
    scaled = advantages(torch.tensor([[3.0, 0, 0, 0]]), deviations=True)
    close(scaled[0], found[0] * 2, 1e-3)
    with pytest.raises(ConfigError, match="1 answer: draw at least two"):
        advantages(torch.tensor([[1.0], [0.0]]))


def test_a_group_that_agrees_changes_nothing():
    rewards = torch.tensor([[1.0, 1, 1], [0, 0, 0]])
    assert not advantages(rewards).any()
    rollouts = Rollouts(
        tiny_modern(), [[1, 5], [1, 6]], lambda place, answer: 1.0, 2
    )
    assert list(rollouts.epoch(0)) == [] and rollouts.rewards == [1.0]


def test_what_counts_nothing_is_refused():
    few = {"at_once": 1, "count": 2, "length": 1}
    rollouts = Rollouts(tiny_modern(), [[1, 5]], lambda *_: math.nan, **few)
    with pytest.raises(ConfigError, match="nan.*expected finite"):
        list(rollouts.epoch(0))
    with pytest.raises(ConfigError, match="none of 2 rows has an answer"):
        answer_batch([([1, 5], []), ([1], [])])


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_beyond_the_clip_there_is_nothing_to_gain(advantage):
    ratio = torch.linspace(0.5, 1.5, 11, requires_grad=True)
    clipped_gain(ratio, torch.tensor(advantage)).sum().backward()
    past = ratio > 1.2 if advantage > 0 else ratio < 0.8
    inside = (ratio > 0.85) & (ratio < 1.15)
    assert not ratio.grad[past].any()
    assert (ratio.grad[inside] == advantage).all()


def test_gradient_of_grpo_is_the_policy_gradient():
    model, batch = tiny_modern(), answer_batch(ROWS)
    advantage = torch.tensor([1.0, -2.0, 0.5])
    sums = group_loss(model, Groups(batch, advantage))
    weight = model.layers[0].feed_forward.gate_proj.weight
    (found,) = torch.autograd.grad(sums.loss, weight)
    of_answers = answer_log_probs(model, batch).sum(dim=1)
    (wanted,) = torch.autograd.grad(-(advantage * of_answers).sum(), weight)
    close(found, wanted, 1e-4)


@on_each_device
def test_answers_better_than_their_group_become_likelier(device):
    model = tiny_modern().to(device)
    prompts = [[1, 5], [1, 6], [1, 7], [1, 8]]
    rollouts = Rollouts(model, prompts, lambda _, answer: len({*answer}), 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    gains = []

    def worth(batch):
        log_probs = answer_log_probs(model, batch.answers).sum(dim=1)
        return (batch.advantage * log_probs).sum().item()

    for batch in rollouts.epoch(0):
        batch = batch.to(device)
        before = worth(batch)
        train_step(model, batch, optimizer, LoopConfig(), group_loss)
        gains.append(worth(batch) - before)
    assert min(gains) > 0 and len(gains) == len(rollouts.rewards) == 2


# --- answers -----------------------------------------------------------------


def test_drawn_answers_follow_the_models_distribution():
    model, prompt = tiny_modern(), [1, 5, 6]
    generator = torch.Generator().manual_seed(0)
    drawn = draw_answers(model, [prompt], 4000, 1, generator)[0]
    assert all(len(answer) == 1 for answer in drawn)
    counts = torch.bincount(torch.tensor(drawn)[:, 0], minlength=17) / 4000
    chances = model(torch.tensor([prompt]))[0, -1].softmax(-1).detach()
    chances[[PAD, BOS]] = 0  # which no answer contains
    assert (counts - chances / chances.sum()).abs().max() < 0.04


def test_answers_to_several_prompts_are_those_to_each():
    model, prompts = tiny_modern(), [[1, 5, 6], [1, 9, 4]]
    sharp = {"count": 2, "length": 6, "temperature": 1e-6}
    found = draw_answers(model, prompts, **sharp)
    for prompt, (one, other) in zip(prompts, found, strict=True):
        assert one == other == draw_answers(model, [prompt], **sharp)[0][0]


def test_the_likeliest_answers_to_prompts_of_any_length_keep_their_order():
    model, prompts = tiny_modern(), [[1, 5, 6], [1, 9], [1, 7, 4], [1, 3]]
    for prompt, answer in zip(
        prompts, greedy_answers(model, prompts, 5), strict=True
    ):
        for place, token in enumerate(answer):
            read = torch.tensor([[*prompt, *answer[:place]]])
            logits = model(read)[0, -1]
            logits[[PAD, BOS]] = -torch.inf  # which no answer contains
            assert token == logits.argmax()


@on_each_device
def test_an_answer_ends_with_eos_or_has_the_full_length(device):
    model = tiny_modern().to(device)
    generator = torch.Generator(device).manual_seed(1)
    drawn = draw_answers(model, [[1, 5, 6]], 50, 6, generator)[0]
    for answer in drawn:
        assert answer.count(EOS) == (answer[-1] == EOS)
        assert len(answer) == 6 or answer[-1] == EOS
    assert len({*map(len, drawn)}) > 1
