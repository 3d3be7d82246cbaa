"""From a model of text to one that answers (chapter 23).

The loss of answers alone, LoRA (Hu et al. 2021), DPO (Rafailov et al. 2023)
and GRPO (Shao et al. 2024). The loop is :func:`~.loop.fit`: each method is a
kind of batch and a loss.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.batches.pairs import pad_rows
from transformer_course.checks import Size, require_fits
from transformer_course.data.tokenizer import BOS, EOS, PAD, Tokenizer
from transformer_course.device import moved
from transformer_course.errors import ConfigError
from transformer_course.models.mode import for_inference
from transformer_course.training.loss import LossSums

Ids = list[int]


class Answers(NamedTuple):
    """Prompts with their answers, padded on the right."""

    ids: Int[Tensor, "rows length"]
    """Each row a prompt, its answer and eos."""
    counts: Bool[Tensor, "rows length"]
    """Where the answer is, eos included: what the loss counts."""

    @property
    def inputs(self) -> tuple[Int[Tensor, "rows shorter"]]:
        """What the model reads: all but the last column."""
        return (self.ids[:, :-1],)

    @property
    def tgt_out(self) -> Int[Tensor, "rows shorter"]:
        """What it is to predict: the answer, and padding elsewhere."""
        return self.ids[:, 1:].masked_fill(~self.counts[:, 1:], PAD)

    to = moved


def turn(tokenizer: Tokenizer, role: str, content: str) -> Ids:
    """Ids of a message: bos, who speaks, what is said, eos.

    It is the template of :func:`~.chat.chat_text` for a tokenizer of ours,
    whose two marks no text can spell.
    """
    return [BOS, *tokenizer.encode(f"{role} : {content}"), EOS]


def prompt_ids(tokenizer: Tokenizer, prompt: str, role: str = "user") -> Ids:
    """Ids of a message, and of the beginning of the answer to it."""
    opening = [BOS, *tokenizer.encode("assistant :")]
    return turn(tokenizer, role, prompt) + opening


def answer_batch(rows: Sequence[Sequence[Ids]]) -> Answers:
    """A batch of prompts and answers.

    Args:
        rows: ids of each prompt and of its answer, which ends with eos where
            it is complete; and so on, where there are several turns.

    Raises:
        ConfigError: all answers are empty.
    """
    if not any(any(parts[1::2]) for parts in rows):
        raise ConfigError(
            f"none of {len(rows)} rows has an answer, so there is no loss: "
            "shorten the prompts less, or leave these rows out."
        )
    counts = [
        [i % 2 for i, part in enumerate(parts) for _ in part] for parts in rows
    ]
    ids = pad_rows([[*chain.from_iterable(parts)] for parts in rows])
    return Answers(ids, pad_rows(counts).bool())


def answer_log_probs(
    model: nn.Module, batch: Answers
) -> Float[Tensor, "rows shorter"]:
    """Log-probability of each token of the answers; 0 elsewhere."""
    wanted = batch.tgt_out
    log_probs = model(*batch.inputs).float().log_softmax(dim=-1)
    found = log_probs.gather(-1, wanted[..., None]).squeeze(-1)
    return found.masked_fill(wanted == PAD, 0)


# --- LoRA --------------------------------------------------------------------


class LoRA(nn.Module):
    """A linear map that stays, plus a learned one of low rank.

    x Wᵀ + α/r · x Aᵀ Bᵀ, where B begins as zero (Hu et al. 2021, section
    4.1).

    Args:
        linear: the map W, which is frozen.
        rank: r.
        alpha: α.
    """

    def __init__(self, linear: nn.Linear, rank: int = 8, alpha: float = 16):
        super().__init__()
        self.linear, self.scale, self.on = linear, alpha / rank, True
        linear.requires_grad_(False)
        drawn = torch.randn(rank, linear.in_features).to(linear.weight)
        self.lora_A = nn.Parameter(drawn / linear.in_features**0.5)
        zeros = torch.zeros(linear.out_features, rank).to(linear.weight)
        self.lora_B = nn.Parameter(zeros)

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Tensor:
        """Both maps; the frozen one alone where the other is off."""
        if not self.on:
            return self.linear(x)
        return self.linear(x) + self.scale * x @ self.lora_A.T @ self.lora_B.T

    @property
    def weight(self) -> Float[Tensor, "d_out d_in"]:
        """The matrix of one linear map that does the same."""
        if not self.on:
            return self.linear.weight
        return self.linear.weight + self.scale * self.lora_B @ self.lora_A

    @property
    def bias(self) -> nn.Parameter | None:
        """Its bias, which stays."""
        return self.linear.bias

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """That linear map, even while LoRA is off."""
        self.linear.weight += self.scale * self.lora_B @ self.lora_A
        return self.linear


def add_lora(model: nn.Module, rank: int = 8, alpha: float = 16) -> nn.Module:
    """Freeze a model, and put LoRA around each linear map of its layers.

    Raises:
        ConfigError: it has none, or has LoRA already; or a rank below 1.
    """
    require_fits("rank", rank, Size)
    if any(isinstance(part, LoRA) for part in model.modules()):
        raise ConfigError(
            "the model has LoRA already: train that, or call merge_lora first."
        )
    model.requires_grad_(False)
    return _replace(model, nn.Linear, lambda one: LoRA(one, rank, alpha))


def merge_lora(model: nn.Module) -> nn.Module:
    """Add what LoRA has learned to the weights, and take LoRA away.

    They stay frozen: ``model.requires_grad_()`` lets all of them learn.

    Raises:
        ConfigError: there is no LoRA.
    """
    return _replace(model, LoRA, LoRA.merged)


def _replace(model: nn.Module, kind: type, new: Callable) -> nn.Module:
    """Replace each part of a kind, but the output."""
    output = getattr(model, "to_logits", None)
    found = [
        (name, child)
        for name, child in model.named_modules(remove_duplicate=False)
        if name and isinstance(child, kind) and child is not output
    ]
    if not found:
        raise ConfigError(
            f"the model has no {kind.__name__} inside: give a model with "
            "layers, and call add_lora before merge_lora."
        )
    once = dict.fromkeys(child for _, child in found)  # one may stand twice
    made = {child: new(child) for child in once}
    for name, child in found:
        model.set_submodule(name, made[child])
    return model


@contextlib.contextmanager
def without_lora(model: nn.Module) -> Iterator[None]:
    """Switch LoRA off: the model as it was before its training."""
    parts = [m for m in model.modules() if isinstance(m, LoRA) and m.on]
    for part in parts:
        part.on = False
    try:
        yield
    finally:
        for part in parts:
            part.on = True


# --- DPO ---------------------------------------------------------------------


def dpo_loss(
    chosen: Float[Tensor, " pairs"],
    rejected: Float[Tensor, " pairs"],
    before: tuple[Float[Tensor, " pairs"], Float[Tensor, " pairs"]],
    beta: float = 0.1,
) -> Float[Tensor, " pairs"]:
    """-log σ(β (gain of the chosen answer - gain of the rejected one)).

    Rafailov et al. 2023, equation 7.

    Args:
        chosen: log-probability of each chosen answer.
        rejected: of each rejected one.
        before: of both under the reference, the model before the training.
        beta: how much a gain counts; a small one lets the model go further
            from the reference.
    """
    gains = (chosen - before[0]) - (rejected - before[1])
    return -F.logsigmoid(beta * gains)


class Pairs(NamedTuple):
    """Of each prompt a chosen and a rejected answer."""

    chosen: Answers
    rejected: Answers

    to = moved


def preference_loss(model: nn.Module, batch: Pairs) -> LossSums:
    """DPO's loss of a model with LoRA, whose reference has LoRA off.

    Returns:
        Sums over pairs; correct are those whose chosen answer has gained.
    """

    def log_probs() -> list[Float[Tensor, " pairs"]]:
        return [answer_log_probs(model, part).sum(dim=1) for part in batch]

    with torch.no_grad(), without_lora(model):
        before = log_probs()
    loss = dpo_loss(*log_probs(), before)
    gained = (loss < -F.logsigmoid(torch.zeros(()))).sum()
    count = torch.tensor(len(loss), device=loss.device)
    return LossSums(loss.sum(), loss.sum().detach(), gained, count)


# --- GRPO --------------------------------------------------------------------


def advantages(
    rewards: Float[Tensor, "groups answers"], deviations: bool = False
) -> Float[Tensor, "groups answers"]:
    """How far each reward lies above its group's mean; 0 where all agree.

    Args:
        rewards: of the answers to each prompt.
        deviations: divide by the group's standard deviation, as first
            published (Shao et al. 2024, section 4.1.2); Liu et al. 2025 leave
            that out.

    Raises:
        ConfigError: fewer than two answers in a group.
    """
    if rewards.size(1) < 2:
        raise ConfigError(
            f"a group has {rewards.size(1)} answer: draw at least two to each "
            "prompt, which are compared with each other."
        )
    above = rewards - rewards.mean(dim=1, keepdim=True)
    if not deviations:
        return above
    return above / (rewards.std(dim=1, keepdim=True) + 1e-4)


def clipped_gain(
    ratio: Float[Tensor, "..."],
    advantage: Float[Tensor, "..."],
    clip: float = 0.2,
) -> Float[Tensor, "..."]:
    """min(ρ A, clamp(ρ, 1 - ε, 1 + ε) A): what GRPO makes as large as it can.

    Shao et al. 2024, equation 3.

    Args:
        ratio: ρ, each token's probability over what it was when the answer
            was drawn.
        advantage: A, of its answer.
        clip: ε; beyond it nothing more is gained.
    """
    clamped = ratio.clamp(1 - clip, 1 + clip)
    return torch.minimum(ratio * advantage, clamped * advantage)


class Groups(NamedTuple):
    """Drawn answers, each with its advantage."""

    answers: Answers
    advantage: Float[Tensor, " rows"]

    to = moved


def group_loss(model: nn.Module, batch: Groups) -> LossSums:
    """GRPO's loss right after the answers were drawn, without a KL term.

    The model is then the one that drew them: each ratio is 1, but has a
    gradient.

    Returns:
        Sums over the answers' tokens; correct are those of answers that are
        better than their group.
    """
    log_probs = answer_log_probs(model, batch.answers)
    ratio = (log_probs - log_probs.detach()).exp()
    counts = batch.answers.counts[:, 1:]
    advantage = batch.advantage[:, None].expand_as(ratio)[counts]
    loss = -clipped_gain(ratio[counts], advantage).sum()
    nll = -log_probs.detach().sum()
    return LossSums(loss, nll, (advantage > 0).sum(), counts.sum())


@for_inference
def draw_answers(
    model: nn.Module,
    prompts: list[Ids],
    count: int,
    length: int,
    generator: torch.Generator | None = None,
    temperature: float = 1.0,
) -> list[list[Ids]]:
    """Draw several answers to each prompt, which is read once.

    Args:
        model: a decoder of today.
        prompts: ids, all of one length.
        count: how many answers to each.
        length: most tokens of an answer.
        generator: source of randomness, on the model's device.
        temperature: divides the logits.

    Returns:
        For each prompt the ids of its answers, with eos where they are
        complete.
    """
    cache, device = model.new_cache(), next(model.parameters()).device
    given = torch.tensor(prompts, device=device)
    logits = model.decode(given, cache=cache)[:, -1]
    rows = torch.arange(len(prompts), device=device).repeat_interleave(count)
    for layer in cache.layers:
        layer.own.select(rows)
    logits, drawn = logits[rows], []
    finished = torch.zeros_like(rows, dtype=torch.bool)
    while len(drawn) < length and not finished.all():
        if drawn:
            logits = model.decode(drawn[-1][:, None], cache=cache)[:, -1]
        chances = (logits.float() / temperature).softmax(dim=-1)
        chances[:, [PAD, BOS]] = 0  # no answer contains them
        tokens = chances.multinomial(1, generator=generator).squeeze(1)
        drawn.append(tokens.masked_fill(finished, PAD))
        finished |= tokens == EOS
    texts = [
        [token for token in row if token != PAD]
        for row in torch.stack(drawn, dim=1).tolist()
    ]
    return [texts[i : i + count] for i in range(0, len(texts), count)]


def greedy_answers(
    model: nn.Module, prompts: list[Ids], length: int
) -> list[Ids]:
    """The likeliest answer to each prompt; prompts of one length are read
    together."""
    found: dict[int, Ids] = {}
    for size in {*map(len, prompts)}:
        places = [i for i, ids in enumerate(prompts) if len(ids) == size]
        some = [prompts[i] for i in places]
        drawn = draw_answers(model, some, 1, length, temperature=1e-4)
        found |= {i: one for i, [one] in zip(places, drawn, strict=True)}
    return [found[i] for i in range(len(prompts))]


class Rollouts:
    """Batches that are drawn from the model while it learns.

    Args:
        model: the one that is trained.
        prompts: ids of the prompts, in the order of the training.
        reward: from the number of a prompt and an answer's ids to a reward.
        at_once: prompts of a batch.
        count: answers to each.
        length: most tokens of an answer.
        seed: fixes the answers.
        deviations: of the :func:`advantages`.
    """

    def __init__(
        self,
        model: nn.Module,
        prompts: list[Ids],
        reward: Callable[[int, Ids], float],
        at_once: int = 4,
        count: int = 8,
        length: int = 16,
        seed: int = 0,
        deviations: bool = False,
    ):
        self.model, self.prompts, self.reward = model, prompts, reward
        self.at_once, self.count, self.length = at_once, count, length
        self.deviations = deviations
        device = next(model.parameters()).device
        self.generator = torch.Generator(device).manual_seed(seed)
        self.rewards: list[float] = []
        """Mean reward of each batch so far."""

    def __len__(self) -> int:
        return len(self.prompts) // self.at_once

    def epoch(self, number: int) -> Iterator[Groups]:
        """Draw answers to each prompt; those of a group that agrees are left
        out, since they would change nothing.

        Raises:
            ConfigError: a reward is not finite.
        """
        for first in range(0, len(self) * self.at_once, self.at_once):
            places = range(first, first + self.at_once)
            drawn = [self._group(place) for place in places]
            rewards = torch.tensor(
                [
                    [self.reward(place, answer) for answer in group]
                    for place, group in zip(places, drawn, strict=True)
                ],
                dtype=torch.float32,
            )
            if not rewards.isfinite().all():
                raise ConfigError(
                    f"the rewards of a batch are {rewards.tolist()}: expected "
                    "finite numbers."
                )
            self.rewards.append(rewards.mean().item())
            above = advantages(rewards, self.deviations).tolist()
            rows = [
                (self.prompts[place], answer, advantage)
                for place, group, of_group in zip(
                    places, drawn, above, strict=True
                )
                for answer, advantage in zip(group, of_group, strict=True)
                if any(of_group)
            ]
            if rows:
                batch = answer_batch([row[:2] for row in rows])
                yield Groups(batch, torch.tensor([row[2] for row in rows]))

    def _group(self, place: int) -> list[Ids]:
        prompt = self.prompts[place]
        more = self.count, self.length, self.generator
        return draw_answers(self.model, [prompt], *more)[0]
