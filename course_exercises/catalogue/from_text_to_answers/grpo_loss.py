"""The loss of group relative policy optimisation (GRPO)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def grpo_loss(
    log_probs: Float[Tensor, "answers length"],
    old_log_probs: Float[Tensor, "answers length"],
    counts: Bool[Tensor, "answers length"],
    rewards: Float[Tensor, " answers"],
    clip: float,
) -> Float[Tensor, ""]:
    """GRPO's loss of a group of answers to one prompt, without a KL term.

    A token's ratio ρ is its probability now over its probability when the
    answer was drawn. An answer's advantage A says how far its reward lies
    above the group's mean; it is not divided by anything. A token gains ρ A
    or clamp(ρ, 1 - ε, 1 + ε) A, whichever is less.

    Args:
        log_probs: of each token, under the model that is trained.
        old_log_probs: of each token, under the model that drew the answers.
        counts: True at the tokens of the answers. At prompts and padding the
            log-probabilities mean nothing.
        rewards: one for each answer, two at least.
        clip: ε.

    Returns:
        Minus the mean gain of the tokens that count, all of which count
        alike. Only ``log_probs`` gets a gradient: all else is constant.
    """
    ### BEGIN SOLUTION
    ratio = (log_probs - old_log_probs.detach()).exp()
    advantage = (rewards - rewards.mean()).detach()[:, None]
    clamped = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantage, clamped * advantage)
    return -gain[counts].mean()
    ### END SOLUTION


@other
def grpo_by_the_larger_loss(log_probs, old_log_probs, counts, rewards, clip):
    with torch.no_grad():
        worth = (rewards - rewards.mean()).unsqueeze(1)
    ratio = torch.exp(log_probs - old_log_probs.detach())
    losses = torch.max(-worth * ratio, -worth * ratio.clip(1 - clip, 1 + clip))
    return (losses * counts).sum() / counts.sum()


@other
def grpo_answer_by_answer(log_probs, old_log_probs, counts, rewards, clip):
    gains = []
    for row, old, counted, reward in zip(
        log_probs,
        old_log_probs.detach(),
        counts,
        rewards.detach(),
        strict=True,
    ):
        advantage = reward - rewards.detach().mean()
        ratio = (row[counted] - old[counted]).exp()
        if advantage > 0:
            ratio = ratio.clamp(max=1 + clip)
        else:
            ratio = ratio.clamp(min=1 - clip)
        gains.append(ratio * advantage)
    return -torch.cat(gains).mean()


def logs(*rows: list[float]) -> Tensor:
    """Log-probabilities, given as probabilities."""
    return torch.tensor(rows).log()


def draw_group(draw: Draw) -> Case:
    answers, length = draw.size(2, 5), draw.size(3, 7)
    old = -draw.normal(answers, length).abs() - 0.1
    counts = draw.ids(answers, length) != 0
    counts[:, 0] = False  # the prompt
    counts[:, 1] = True
    return case(
        "a random group",
        old + 0.3 * draw.normal(answers, length),
        old,
        counts,
        draw.normal(answers),
        draw.choice([0.1, 0.2]),
    )


EXERCISE = exercise_of(
    grpo_loss,
    section="23_from_text_to_answers#a-reward-that-a-program-gives-grpo",
    points=3,
    cases=[
        case(
            "two answers of one token",
            logs([0.6], [0.45]),
            logs([0.4], [0.5]),
            torch.tensor([[True], [True]]),
            torch.tensor([1.0, 0.0]),
            0.2,
        ),
        case(
            "right after they were drawn: all ratios are 1",
            logs([0.5, 0.4, 0.8], [0.3, 1.0, 1.0]),
            logs([0.5, 0.4, 0.8], [0.3, 1.0, 1.0]),
            torch.tensor([[True, True, True], [True, False, False]]),
            torch.tensor([1.0, 0.0]),
            0.2,
        ),
        case(
            "all rewards are equal",
            logs([0.5, 0.4], [0.3, 0.7]),
            logs([0.5, 0.4], [0.3, 0.7]),
            torch.tensor([[True, True], [True, True]]),
            torch.tensor([1.0, 1.0]),
            0.2,
        ),
        case(
            "ratios on both sides of the clip",
            logs([0.6, 0.2], [0.6, 0.2]),
            logs([0.3, 0.5], [0.4, 0.6]),
            torch.tensor([[True, True], [True, True]]),
            torch.tensor([1.0, 0.0]),
            0.2,
        ),
        case(
            "a prompt, and padding after the shorter answer",
            logs([0.9, 0.5, 0.4, 0.8], [0.1, 0.2, 0.3, 0.6]),
            logs([0.2, 0.4, 0.4, 0.3], [0.3, 0.7, 0.3, 0.5]),
            torch.tensor(
                [[False, True, True, False], [False, True, True, True]]
            ),
            torch.tensor([0.0, 1.0]),
            0.1,
        ),
        case(
            "three rewards between 0 and 10",
            logs([0.5, 0.4], [0.3, 0.7], [0.6, 0.2]),
            logs([0.4, 0.4], [0.3, 0.6], [0.7, 0.2]),
            torch.tensor([[True, True], [True, True], [True, False]]),
            torch.tensor([10.0, 4.0, 0.0]),
            0.2,
        ),
    ],
    draw=draw_group,
)
