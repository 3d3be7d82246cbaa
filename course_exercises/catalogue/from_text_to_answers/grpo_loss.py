"""The loss of group relative policy optimisation (GRPO)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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
    above the group's mean, in standard deviations (those of ``torch.std``);
    where all rewards are equal, A is 0. A token gains ρ A or clamp(ρ, 1 - ε,
    1 + ε) A, whichever is less.

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
    above = rewards - rewards.mean()
    advantage = (above / (rewards.std() + 1e-4)).detach()[:, None]
    clamped = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantage, clamped * advantage)
    return -gain[counts].mean()
    ### END SOLUTION


@other
def grpo_by_the_larger_loss(log_probs, old_log_probs, counts, rewards, clip):
    with torch.no_grad():
        spread, mean = torch.std_mean(rewards)
        worth = ((rewards - mean) / (spread + 1e-8)).unsqueeze(1)
    ratio = torch.exp(log_probs - old_log_probs.detach())
    losses = torch.max(-worth * ratio, -worth * ratio.clip(1 - clip, 1 + clip))
    return (losses * counts).sum() / counts.sum()


@other
def grpo_answer_by_answer(log_probs, old_log_probs, counts, rewards, clip):
    gains, spread = [], rewards.detach().std()
    for row, old, counted, reward in zip(
        log_probs,
        old_log_probs.detach(),
        counts,
        rewards.detach(),
        strict=True,
    ):
        above = reward - rewards.detach().mean()
        advantage = above / spread if spread > 0 else 0 * above
        ratio = (row[counted] - old[counted]).exp()
        if advantage > 0:
            ratio = ratio.clamp(max=1 + clip)
        else:
            ratio = ratio.clamp(min=1 - clip)
        gains.append(ratio * advantage)
    return -torch.cat(gains).mean()


EDITS = """
# sign_forgotten
- return -gain -> return gain
Your loss has the wrong sign.

Training makes a loss *small*; this one would make the worst answers of each
group more probable.

# mean_not_subtracted
- rewards - rewards.mean() -> rewards
You do not subtract the group's mean.

With rewards of 0 and 1, no answer would then become less probable, and a group
in which all answers are right would move the model furthest.

# not_divided
- above / (rewards.std() + 1e-4) -> above
You do not divide by the standard deviation.

A program that gives 100 points for a right answer would then move the model a
hundred times as far as one that gives 1.

# divided_by_the_variance
- std() -> var()
You divide by the variance.

It has the unit of a squared reward, so rewards ten times as large would give
advantages a tenth as large. Divided by its root, they stay as they are.

# deviation_over_n
- std() -> std(correction=0)
You take the mean of the squared differences; `torch.std` divides their sum by
one less than the number of answers.

Small groups show the difference: in a group of two, your advantages are 1.4
times as large.

# zero_by_zero
- (rewards.std() + 1e-4) -> rewards.std()
Where all rewards are equal, your loss is NaN.

The deviation is 0 there, and 0 is divided by 0. Such groups are common, and
one of them would make all the model's weights NaN.

# along_the_tokens
- [:, None] -> [None]
or
- [:, None] ->
or
- [:, None] -> [None]
- gain[counts].mean() -> (gain * counts).sum() / counts.sum()
Your advantages lie along the tokens, not along the answers.

All tokens of an answer share its advantage. PyTorch aligns the *last* axes,
and complains only where the two sizes differ.

# padding_counted
- gain[counts] -> gain
or
- gain[counts] -> gain[log_probs != 0]
or
- gain[counts].mean() -> (gain * counts).mean()
You count prompts and padding, in the sum or in the number that you divide by.

The model wrote neither. What counts is in `counts`; other log-probabilities
may be 0 or any other number.

# each_answer_alike
- gain[counts].mean()
+ ((gain * counts).sum(dim=1) / counts.sum(dim=1)).mean()
You take the mean of each answer, and then the mean of these.

GRPO as published does so, but then a token of a long answer counts less than
one of a short answer, and long wrong answers are punished too little. Here, as
in the chapter, all tokens count alike.

# sum_over_the_tokens
- gain[counts].mean() -> gain[counts].sum()
or
- gain[counts].mean() -> gain[counts].sum() / len(rewards)
You add up the gains of tokens, and do not divide by their number.

Then a step is larger where the answers are longer, or where there are more of
them. The mean is asked for.

# logarithms_for_the_ratio (#several-updates-from-one-group)
- .exp() ->
or
- (log_probs - old_log_probs.detach()).exp()
+ log_probs / old_log_probs.detach()
You take a difference or a quotient of logarithms for the ratio.

The ratio of two probabilities is e to the *difference* of their logarithms. It
is 1 where nothing has changed.

# log_probs_for_the_ratio (#several-updates-from-one-group)
- torch.minimum(ratio * advantage, clamped * advantage)
+ log_probs * advantage
You weight log-probabilities, and not ratios.

Right after the answers were drawn, that has the same gradient. In later
updates it takes no notice of how far each token has moved already.

# not_clipped (#several-updates-from-one-group)
- torch.minimum(ratio * advantage, clamped * advantage)
+ ratio * advantage
You do not clip.

Then each further update from the same group moves the model on in the same
direction, as far as it will go.

# minimum_left_out (#several-updates-from-one-group)
- torch.minimum(ratio * advantage, clamped * advantage)
+ clamped * advantage
You clip each ratio, and leave out the minimum.

A token that has moved the *wrong* way, such as one of a good answer that has
become less probable, then has no gradient, and cannot be put right.

# minimum_of_the_ratios (#several-updates-from-one-group)
- torch.minimum(ratio * advantage, clamped * advantage)
+ torch.minimum(ratio, clamped) * advantage
You take the smaller ratio, and multiply by the advantage afterwards.

Where the advantage is negative, the *larger* ratio gains less. Multiply first,
then take the minimum.

# larger_of_the_two (#several-updates-from-one-group)
- minimum -> maximum
You take the larger of the two gains.

It grows without end where a token has moved the right way, and is flat where
it has moved the wrong way: the opposite of what clipping is for.

# clipped_on_one_side (#several-updates-from-one-group)
- 1 - clip, 1 + clip -> max=1 + clip
or
- 1 - clip, 1 + clip -> min=1 - clip
You clip on one side only.

Good answers are limited above, bad ones below: a bad token has moved far
enough when its ratio is 1 - ε.

# constants_learn (#several-updates-from-one-group)
- old_log_probs.detach() -> old_log_probs
- .detach()[:, None] -> [:, None]
or
- old_log_probs.detach() -> old_log_probs
or
- .detach()[:, None] -> [:, None]
`old_log_probs` or `rewards` gets a gradient.

Both are fixed when the answers are drawn. If the old log-probabilities were
those of the model itself, the gradients above and below the fraction bar would
cancel, and nothing would be learned.
"""


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
    hints=(
        "Three steps: one advantage for each answer, one ratio for each "
        "token, and the smaller of two gains. What does each of them depend "
        "on, and which of them has a gradient?",
        "A difference of log-probabilities becomes a ratio by `exp`. Give the "
        "advantages a second axis, of size 1, and `detach` them and the old "
        "log-probabilities. A small number added to the deviation helps where "
        "that is 0.",
    ),
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
    tolerance=1e-3,
)
