"""Exercises of chapter 12: training."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
    variant_of,
)

ASKED = "12_training#what-the-model-is-asked-the-next-token"
SHIFT_FORGOTTEN = "12_training#the-target-is-not-shifted"
SHIFTED_BATCH = "11_batches#the-target-shifted"
LOSS = "12_training#how-wrong-was-it-cross-entropy"
REAL = "12_training#over-real-tokens-only"
SMOOTHING = "12_training#do-not-be-too-sure-label-smoothing"
RATE = "12_training#how-fast-warm-up-then-1-step"


def draw_targets(draw: Draw, rows: int, length: int) -> Tensor:
    """Sentences of up to ``length`` words, with bos, eos and padding."""
    words = draw.ids(rows, length)
    words += 3 * (words != 0)  # 1 to 3 are bos, eos and unk
    tgt = F.pad(words, (1, 1))
    tgt[:, 0] = 1
    tgt[torch.arange(rows), (words != 0).sum(dim=1) + 1] = 2
    return tgt


# --- teacher_forcing ---------------------------------------------------------


def teacher_forcing(
    tgt: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch target"], Int[Tensor, "batch target"]]:
    """What the decoder reads, and what it must answer at each place.

    Args:
        tgt: whole targets: bos (1), words, eos (2), filled up with pad (0).
            The longest has no padding.

    Returns:
        A pair: what is read, and what is asked. Both are a column narrower
        than ``tgt``, for all rows alike. At each place what is asked is the
        token that follows the one read there. A shorter row has padding to
        be asked for, which no loss counts: whatever stands there, eos
        included, stays as it is in ``tgt``.
    """
    ### BEGIN SOLUTION
    tgt_in = tgt[:, :-1]
    tgt_out = tgt[:, 1:]
    return tgt_in, tgt_out
    ### END SOLUTION


def forcing_by_narrow(tgt):
    places = tgt.size(1) - 1
    return tgt.narrow(1, 0, places), tgt.narrow(1, 1, places)


def forcing_by_loop(tgt):
    rows = tgt.tolist()
    read = [[row[t] for t in range(len(row) - 1)] for row in rows]
    asked = [[row[t + 1] for t in range(len(row) - 1)] for row in rows]
    return torch.tensor(read), torch.tensor(asked)


@see(SHIFT_FORGOTTEN)
def not_shifted(tgt):
    """The model reads the very token that it must answer.

    Both of your results are the whole target. To copy is enough: the loss
    falls quickly, and the model translates nothing.
    """
    return tgt, tgt


@see(SHIFT_FORGOTTEN)
def not_shifted_without_end(tgt):
    """The model reads the very token that it must answer.

    Both of your results are the target without its last column, so neither
    is shifted against the other. And eos is never asked for in the longest
    rows.
    """
    return tgt[:, :-1], tgt[:, :-1]


@see(SHIFT_FORGOTTEN)
def not_shifted_without_beginning(tgt):
    """The model reads the very token that it must answer.

    Both of your results are the target without its first column, so neither
    is shifted against the other. And the model never sees bos, with which it
    has to begin when it writes alone.
    """
    return tgt[:, 1:], tgt[:, 1:]


def shifted_backwards(tgt):
    """You shift the wrong way: the model is asked for the token *before*.

    It would read "eos" and have to answer the last word. When it writes, it
    has bos, and needs the word after it.
    """
    return tgt[:, 1:], tgt[:, :-1]


def answers_shorter(tgt):
    """Your two results have different lengths.

    The answers are right. But the model gives an answer for each token that
    it reads, and after the last column there is nothing left to ask.
    """
    return tgt, tgt[:, 1:]


def bos_is_asked(tgt):
    """Your answers begin with bos, and are a column longer than the input.

    Nobody asks for bos: it is what the model is given to begin with. What it
    must answer on reading bos is the first word.
    """
    return tgt[:, :-1], tgt


def answers_rolled(tgt):
    """Your answers are turned round: what falls off in front comes in again
    at the end.

    So the last place of each row asks for bos. It has to be left out, in
    what is read as well.
    """
    return tgt, tgt.roll(-1, dims=1)


def answers_filled_up(tgt):
    """You keep the width: the model reads the last column too, and after it
    you ask for padding.

    Nothing comes after the last column. To read it costs time, and in the
    longest row it is eos, after which nothing is asked.
    """
    return tgt, F.pad(tgt[:, 1:], (0, 1))


def another_bos_in_front(tgt):
    """You put bos in front, where one is already.

    So the model reads bos and is asked for bos. In some libraries the labels
    come without it, and are shifted to the right like this. Here ``tgt``
    begins with bos.
    """
    return F.pad(tgt[:, :-1], (1, 0), value=1), tgt


def padding_at_minus_100(tgt):
    """You put -100 in place of padding.

    Some libraries mark so what does not count. In this course padding is its
    own mark, and the loss is told its number: leave it.
    """
    return tgt[:, :-1], tgt[:, 1:].masked_fill(tgt[:, 1:] == 0, -100)


def shifted_by_two(tgt):
    """The model is asked for the token after the next.

    Your two results are two places apart. It would learn to leave out every
    second word.
    """
    return tgt[:, :-2], tgt[:, 2:]


def shifted_over_the_batch(tgt):
    """You shift sentences, not tokens.

    Your slices are along the first axis, the batch: each sentence is to be
    answered by the sentence below it.
    """
    return tgt[:-1], tgt[1:]


@see(SHIFTED_BATCH)
def both_ends_cut_off(tgt):
    """You take bos and the last column off from both.

    The decoder has to read bos, or it has nothing to write the first word
    after; and it has to be asked for eos, or it never learns to stop.
    """
    return tgt[:, 1:-1], tgt[:, 1:-1]


def every_eos_taken_out(tgt):
    """You take eos out of what is read, in each row.

    "Cut off eos" is how it is often told, but it is a *column* that is cut.
    A shorter row keeps its eos as something to read. That does no harm: the
    answer there is padding, and padding does not count.
    """
    read = tgt[:, :-1]
    return read.masked_fill(read == 2, 0), tgt[:, 1:]


TEACHER_FORCING = Exercise(
    solution=teacher_forcing,
    section=ASKED,
    points=1,
    hints=(
        "Write bos, a word and eos in a row, and below each what must come "
        "next. Below which of them can you write nothing? Which of them is "
        "never written below?",
        "Both are slices of the same tensor, along the axis of the tokens. "
        "One leaves out the last column, the other the first.",
    ),
    cases=[
        case("a single word", torch.tensor([[1, 7, 2]])),
        case("three words", torch.tensor([[1, 4, 5, 6, 2]])),
        case(
            "two sentences of different lengths",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[1, 4, 2], [1, 5, 2], [1, 2, 0]]),
        ),
        case(
            "more padding",
            torch.tensor([[1, 4, 2, 0, 0], [1, 8, 9, 5, 2]]),
        ),
    ],
    draw=lambda draw: case(
        "random sentences",
        draw_targets(draw, draw.size(1, 4), draw.size(1, 6)),
    ),
    others=[forcing_by_narrow, forcing_by_loop],
    mistakes=[
        not_shifted,
        not_shifted_without_end,
        not_shifted_without_beginning,
        shifted_backwards,
        answers_shorter,
        bos_is_asked,
        answers_rolled,
        answers_filled_up,
        another_bos_in_front,
        padding_at_minus_100,
        shifted_by_two,
        shifted_over_the_batch,
        both_ends_cut_off,
        every_eos_taken_out,
    ],
)

# --- learning_rate -----------------------------------------------------------


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The rate of the paper (section 5.3) at one step.

    Args:
        step: which update it is; the first is 1.
        d_model: the width of the model.
        warmup: for so many steps the rate rises in a straight line, which
            is 0 at step 0; then it falls as 1/√step.

    Returns:
        The rate. At ``step == warmup`` it is 1/√(d_model · warmup), the
        highest of all.
    """
    ### BEGIN SOLUTION
    rising = step * warmup**-1.5
    falling = step**-0.5
    return d_model**-0.5 * min(rising, falling)
    ### END SOLUTION


def rate_by_its_peak(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    if step < warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def rate_by_logarithms(step, d_model, warmup):
    up = math.log(step) - 1.5 * math.log(warmup)
    down = -0.5 * math.log(step)
    return math.exp(min(up, down) - 0.5 * math.log(d_model))


def rate_by_two_phases(step, d_model, warmup):
    share = min(step, warmup) / warmup
    return share / math.sqrt(d_model * max(step, warmup))


def larger_of_both(step, d_model, warmup):
    """Your rate is the larger of the two branches, not the smaller.

    So it begins high, falls until the warm-up ends, and then rises in a
    straight line for ever.
    """
    return d_model**-0.5 * max(step * warmup**-1.5, step**-0.5)


def without_warmup(step, d_model, warmup):
    """Your rate begins at its highest and only falls: nothing is warmed up.

    The first steps rest on the gradients of very few batches. They are to be
    short.
    """
    return d_model**-0.5 * step**-0.5


def rises_for_ever(step, d_model, warmup):
    """Your rate rises and never falls.

    The straight line is right as far as the end of the warm-up. There the
    other branch begins.
    """
    return d_model**-0.5 * step * warmup**-1.5


def flat_after_warmup(step, d_model, warmup):
    """After the warm-up your rate stays where it is.

    It should fall from there, in proportion to 1/√step.
    """
    return (d_model * warmup) ** -0.5 * min(step / warmup, 1)


def falls_too_fast(step, d_model, warmup):
    """After the warm-up your rate falls like 1/step.

    The warm-up and the peak are right. With 1/√step the decline is much
    slower: four times the steps halve it.
    """
    peak = (d_model * warmup) ** -0.5
    return peak * min(step / warmup, warmup / step)


def falls_from_the_root_of_what_is_left(step, d_model, warmup):
    """After the warm-up your rate begins anew, and jumps.

    You seem to count the steps of the decline from the end of the warm-up.
    The formula has the step itself: both branches meet there without a jump.
    """
    if step <= warmup:
        return (d_model * warmup) ** -0.5 * step / warmup
    return (d_model * (step - warmup)) ** -0.5


def warmup_to_the_first_power(step, d_model, warmup):
    """Your line rises too fast: it is step / warmup.

    The two branches have to meet at the end of the warm-up, where the other
    one is 1/√warmup.
    """
    return d_model**-0.5 * min(step / warmup, step**-0.5)


def warmup_to_half_power(step, d_model, warmup):
    """Your line rises far too fast: it is step / √warmup.

    It reaches the other branch after a few steps, so that hardly anything is
    warmed up. Look at the exponent of the warm-up in the formula once more.
    """
    return d_model**-0.5 * min(step * warmup**-0.5, step**-0.5)


def exponents_exchanged(step, d_model, warmup):
    """You have the two exponents of the branches the wrong way round.

    Your rate falls like step to the power of -1.5, far too fast. With the
    right ones both branches are 1/√warmup where the warm-up ends.
    """
    return d_model**-0.5 * min(step**-1.5, step * warmup**-0.5)


def root_of_the_step(step, d_model, warmup):
    """After the warm-up your rate goes on rising, like √step.

    One sign is missing: the falling branch is 1/√step.
    """
    return d_model**-0.5 * min(step**0.5, step * warmup**-1.5)


def sum_of_both(step, d_model, warmup):
    """You add the two branches.

    Each holds on its own side of the warm-up's end: only one of them counts
    at any step.
    """
    return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)


def width_in_one_branch(step, d_model, warmup):
    """The width enters only one of the two branches.

    It seems to be missing where the rate rises, so that the rate jumps at
    the end of the warm-up. It scales the whole.
    """
    if step < warmup:
        return step * warmup**-1.5
    return d_model**-0.5 * step**-0.5


def peak_without_warmup(step, d_model, warmup):
    """Your rate rises to 1/√d_model, however long the warm-up is.

    The shape of the curve is right; all of it is too high by √warmup. The
    longer the rise, the lower the peak.
    """
    return d_model**-0.5 * min(step / warmup, (warmup / step) ** 0.5)


def minus_before_the_root(step, d_model, warmup):
    """Your rate is negative: where it should be 1/√step, it is -√step.

    The minus belongs to the exponent.
    """
    return d_model**-0.5 * min(-(step**0.5), step * warmup**-1.5)


def width_left_out(step, d_model, warmup):
    """Your rate is the same for a model of any width.

    The shape of the curve is right; all of it is too high by √d_model.
    """
    return min(step**-0.5, step * warmup**-1.5)


def wider_is_faster(step, d_model, warmup):
    """Your rate grows with the width of the model.

    You multiply by √d_model. A wider layer sums over more weights, so that
    the same step in each moves its output further: it gets a *lower* rate.
    """
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


def divided_by_the_width(step, d_model, warmup):
    """You divide by d_model, not by its square root.

    The shape of the curve is right; all of it is too low by √d_model.
    """
    return min(step**-0.5, step * warmup**-1.5) / d_model


def steps_from_zero(step, d_model, warmup):
    """Your rate is always that of the step before: the first one is 0.

    You count from 0. Here the first update is step 1.
    """
    return d_model**-0.5 * min(
        max(step - 1, 1) ** -0.5, (step - 1) * warmup**-1.5
    )


def steps_from_two(step, d_model, warmup):
    """Your rate is always that of the step after.

    You add 1 to the step, as is needed where steps are counted from 0. Here
    the first update is step 1 already.
    """
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)


def draw_step(draw: Draw) -> Case:
    warmup = draw.size(3, 50)
    step = draw.size(1, 4 * warmup)
    return case("a random step", step, draw.choice([4, 9, 30, 64]), warmup)


LEARNING_RATE = Exercise(
    solution=learning_rate,
    section=RATE,
    points=2,
    hints=(
        "There are two branches, one that rises and one that falls. At one "
        "step they are equal: which, and what are both there? Which of the "
        "two counts on either side of it?",
        "The falling branch is the step to the power of minus a half. The "
        "rising one has the step itself, and a power of the warm-up that "
        "makes both equal when the step is the warm-up. Take the smaller, "
        "and scale it by the width.",
    ),
    cases=[
        case("the first step", 1, 4, 4),
        case("in the middle of the warm-up", 2, 4, 4),
        case("the end of the warm-up: the peak", 4, 4, 4),
        case("one step later", 5, 4, 4),
        case("four times the warm-up: half the peak", 16, 4, 4),
        case("a wider model", 4, 16, 4),
        case("a longer warm-up", 8, 4, 32),
        case("a warm-up of a single step", 1, 4, 1),
        case("after that", 9, 4, 1),
        case("the paper's base model at its peak", 4000, 512, 4000),
        case("the same at its last step", 100_000, 512, 4000),
    ],
    draw=draw_step,
    others=[rate_by_its_peak, rate_by_logarithms, rate_by_two_phases],
    mistakes=[
        larger_of_both,
        without_warmup,
        rises_for_ever,
        flat_after_warmup,
        falls_too_fast,
        falls_from_the_root_of_what_is_left,
        warmup_to_the_first_power,
        warmup_to_half_power,
        exponents_exchanged,
        root_of_the_step,
        sum_of_both,
        width_in_one_branch,
        peak_without_warmup,
        minus_before_the_root,
        width_left_out,
        wider_is_faster,
        divided_by_the_width,
        steps_from_zero,
        steps_from_two,
    ],
    tolerance=1e-6,
)

# --- smoothed_loss -----------------------------------------------------------


def smoothed_loss(
    logits: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    smoothing: float = 0.0,
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """Cross entropy with label smoothing, in nats per real token.

    Args:
        logits: the model's answer at each place.
        tgt_out: the right token at each place; ``pad_id`` where nothing is
            asked.
        smoothing: ε. It is spread evenly over all V words of the
            vocabulary, the right one and padding among them: each should get
            ε/V, and the right one 1 - ε + ε/V in all.
        pad_id: the token that is no answer. A place where it is the right
            token does not count, whatever the logits are there.

    Returns:
        The mean over all real tokens of the batch: a tensor without axes, of
        the logits' dtype.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    log_probs = logits[real].log_softmax(dim=-1)  # (tokens, vocab)
    right = log_probs.gather(1, tgt_out[real][:, None])
    certain, evenly = -right.mean(), -log_probs.mean()
    return (1 - smoothing) * certain + smoothing * evenly
    ### END SOLUTION


def loss_by_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        tgt_out.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


def loss_written_out(logits, tgt_out, smoothing=0.0, pad_id=0):
    vocab = logits.size(-1)
    right = F.one_hot(tgt_out, vocab).to(logits.dtype)
    wanted = (1 - smoothing) * right + smoothing / vocab
    each = -(wanted * F.log_softmax(logits, dim=-1)).sum(dim=-1)
    real = (tgt_out != pad_id).to(logits.dtype)
    return (each * real).sum() / real.sum()


def loss_by_loop(logits, tgt_out, smoothing=0.0, pad_id=0):
    total, tokens = 0.0, 0
    for answers, rights in zip(logits, tgt_out.tolist(), strict=True):
        for answer, right in zip(answers, rights, strict=True):
            if right == pad_id:
                continue
            log_p = answer - torch.logsumexp(answer, dim=0)
            total = total - (1 - smoothing) * log_p[right]
            total = total - smoothing * log_p.sum() / len(log_p)
            tokens += 1
    return total / tokens


def both_parts(logits, tgt_out):
    """Surprise at the right token, and the mean over all, at each place."""
    log_probs = logits.log_softmax(dim=-1)
    right = log_probs.gather(-1, tgt_out[..., None])[..., 0]
    return -right, -log_probs.mean(dim=-1)


@see(REAL)
def padding_counted(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You count padding as if it were a word to be guessed.

    "What comes after the end?" is no question. A model learns to answer it
    soon, and your loss gets lower the more padding there is.
    """
    certain, evenly = both_parts(logits, tgt_out)
    return ((1 - smoothing) * certain + smoothing * evenly).mean()


@see(REAL)
def divided_by_all_places(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You leave padding out of the sum, but not out of the number that you
    divide by.

    So the loss gets lower the more padding stands beside the words.
    """
    certain, evenly = both_parts(logits, tgt_out)
    each = (1 - smoothing) * certain + smoothing * evenly
    return (each * (tgt_out != pad_id)).mean()


@see(REAL)
def smoothing_over_padding(logits, tgt_out, smoothing=0.0, pad_id=0):
    """The smoothing counts places of padding too.

    The part for the right token is a mean over real tokens. The part for all
    words of the vocabulary is a mean over all places.
    """
    certain, evenly = both_parts(logits, tgt_out)
    first = certain[tgt_out != pad_id].mean()
    return (1 - smoothing) * first + smoothing * evenly.mean()


@see(REAL)
def mean_of_sentence_means(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Yours is a mean of the sentences' means.

    A word of a short sentence then counts for more than one of a long
    sentence. Sum over all real tokens of the batch, and divide once.
    """
    real = (tgt_out != pad_id).to(logits.dtype)
    certain, evenly = both_parts(logits, tgt_out)
    each = ((1 - smoothing) * certain + smoothing * evenly) * real
    return (each.sum(dim=1) / real.sum(dim=1)).mean()


@see(REAL)
def divided_by_the_sentences(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You divide by the number of sentences.

    That is nats per sentence. Per token is asked for, or else long sentences
    look worse.
    """
    tokens = (tgt_out != pad_id).sum()
    mean = loss_by_torch(logits, tgt_out, smoothing, pad_id)
    return mean * tokens / len(logits)


@see(REAL)
def summed(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Yours is the sum over the tokens. Asked for is the mean of them."""
    tokens = (tgt_out != pad_id).sum()
    return loss_by_torch(logits, tgt_out, smoothing, pad_id) * tokens


@see(REAL)
def padding_always_zero(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your loss takes 0 for padding, whatever `pad_id` says."""
    return loss_by_torch(logits, tgt_out, smoothing)


def not_smoothed(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your loss is the same for every ε: nothing is smoothed."""
    return loss_by_torch(logits, tgt_out, 0.0, pad_id)


def smoothed_the_other_way(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You have ε and 1 - ε the wrong way round.

    The right token gets only ε, and nearly everything is spread over the
    vocabulary. Without smoothing, your model would learn nothing at all.
    """
    return loss_by_torch(logits, tgt_out, 1 - smoothing, pad_id)


def spread_over_the_others(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You spread ε over all words *but the right one*.

    Some code does so, dividing by one word less. Asked for is a share for
    every word of the vocabulary: then the right one has a little more than
    1 - ε.
    """
    vocab = logits.size(-1)
    more = smoothing * vocab / (vocab - 1)
    return loss_by_torch(logits, tgt_out, more, pad_id)


def right_word_without_share(logits, tgt_out, smoothing=0.0, pad_id=0):
    """The right token gets 1 - ε, but no share of ε.

    Each of the others has ε over the size of the vocabulary, so your target
    distribution does not quite sum to one. All words share alike, the right
    one too.
    """
    vocab = logits.size(-1)
    wanted = torch.full_like(logits, smoothing / vocab)
    wanted = wanted.scatter(-1, tgt_out[..., None], 1 - smoothing)
    each = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return each[tgt_out != pad_id].mean()


def mean_over_the_vocabulary(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You divide by the size of the vocabulary as well.

    The cross entropy of one token is a *sum* over the words, weighed by the
    target distribution. The mean is over tokens.
    """
    mean = loss_by_torch(logits, tgt_out, smoothing, pad_id)
    return mean / logits.size(-1)


def padding_forbidden(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You forbid padding: its logit becomes -inf, or its share is taken out
    of the softmax.

    Smoothing asks for a little probability everywhere, and a word that has
    none makes the loss infinite. And without smoothing, the loss no longer
    says that the model gave something to padding.
    """
    banned = torch.zeros(logits.size(-1), dtype=logits.dtype)
    banned[pad_id] = -torch.inf
    return loss_by_torch(logits + banned, tgt_out, smoothing, pad_id)


def nothing_for_padding(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You give padding no share of ε.

    Some code does so, and spreads ε over the other words. Asked for is a
    share for every word of the vocabulary, and padding is one.
    """
    vocab = logits.size(-1)
    right = F.one_hot(tgt_out, vocab).to(logits.dtype)
    wanted = (1 - smoothing) * right + smoothing / (vocab - 1)
    wanted[..., pad_id] = 0
    each = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return each[tgt_out != pad_id].mean()


@variant_of(nothing_for_padding)
def nothing_for_padding_nor_in_its_place(
    logits, tgt_out, smoothing=0.0, pad_id=0
):
    vocab = logits.size(-1)
    right = F.one_hot(tgt_out, vocab).to(logits.dtype)
    wanted = (1 - smoothing) * right + smoothing / vocab
    wanted[..., pad_id] = 0
    each = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return each[tgt_out != pad_id].mean()


def only_wrong_words_share(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You give ε neither to padding nor to the right word, and divide it by
    two words less.

    A well-known tutorial does so. Asked for is a share for every word of the
    vocabulary.
    """
    vocab = logits.size(-1)
    wanted = torch.full_like(logits, smoothing / (vocab - 2))
    wanted = wanted.scatter(-1, tgt_out[..., None], 1 - smoothing)
    wanted[..., pad_id] = 0
    each = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return each[tgt_out != pad_id].mean()


def a_share_of_epsilon_each(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Every word of the vocabulary gets all of ε.

    What should be shared has to be divided: your target distribution sums to
    far more than one.
    """
    certain, evenly = both_parts(logits, tgt_out)
    vocab = logits.size(-1)
    each = (1 - smoothing) * certain + smoothing * evenly * vocab
    return each[tgt_out != pad_id].mean()


def epsilon_on_top(logits, tgt_out, smoothing=0.0, pad_id=0):
    """The right token keeps its whole 1, and ε comes on top.

    Your target distribution sums to 1 + ε. What the others get has to be
    taken from the right one.
    """
    certain, evenly = both_parts(logits, tgt_out)
    return (certain + smoothing * evenly)[tgt_out != pad_id].mean()


def smoothing_subtracted(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You subtract the part that is spread over all words.

    Both parts are surprise, and both are to be made small. Look at the signs
    of your two terms: there is one minus too many, or one too few.
    """
    certain, evenly = both_parts(logits, tgt_out)
    each = (1 - smoothing) * certain - smoothing * evenly
    return each[tgt_out != pad_id].mean()


def spread_over_logits(logits, tgt_out, smoothing=0.0, pad_id=0):
    """In the part that is spread over all words you take logits for
    log-probabilities.

    The part of the right token is as it should be. Logits are not
    normalised: without the softmax their mean says nothing.
    """
    certain, _ = both_parts(logits, tgt_out)
    each = (1 - smoothing) * certain - smoothing * logits.mean(dim=-1)
    return each[tgt_out != pad_id].mean()


def predictions_smoothed(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You smooth what the model says, not what it should say.

    You mix its probabilities with equal ones and take the logarithm then. It
    is the *target* that gets 1 - ε and its share of ε; the model's
    probabilities stay as they are.
    """
    p = logits.softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0]
    mixed = (1 - smoothing) * p + smoothing / logits.size(-1)
    return -mixed[tgt_out != pad_id].log().mean()


def entropy_taken_off(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Yours is the KL divergence: the entropy of the target is taken off.

    Its gradient is the same, and its floor is 0. But asked for is the cross
    entropy, whose floor is that entropy.
    """
    q = torch.full((logits.size(-1),), smoothing / logits.size(-1))
    q[0] += 1 - smoothing
    entropy = -(q * q.clamp(min=1e-30).log()).sum().to(logits.dtype)
    return loss_by_torch(logits, tgt_out, smoothing, pad_id) - entropy


@see(REAL)
def divergence_over_all_places(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Yours is the KL divergence, divided by all places, padding too.

    `kl_div` takes the entropy of the target off, and "batchmean" divides by
    the number of rows that it is given. Asked for is the cross entropy, over
    real tokens.
    """
    real = (tgt_out != pad_id).to(logits.dtype).mean()
    return entropy_taken_off(logits, tgt_out, smoothing, pad_id) * real


@see(LOSS)
def softmax_twice(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You take the softmax twice.

    Your logits have become probabilities before they go into a function that
    takes the softmax itself, as `F.cross_entropy` and `log_softmax` do. From
    numbers between 0 and 1 nothing certain can come out.
    """
    return loss_by_torch(logits.softmax(dim=-1), tgt_out, smoothing, pad_id)


@see("05_score_functions#a-softmax-that-cannot-overflow")
def log_of_a_softmax(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your loss is infinite, or NaN, where a word is very improbable.

    You take the softmax, and its logarithm afterwards. Rounded, a small
    probability is 0, and log 0 is -inf. Taken in one, the logarithm of the
    softmax is a plain difference.
    """
    log_probs = logits.softmax(dim=-1).log()
    right = log_probs.gather(-1, tgt_out[..., None])[..., 0]
    each = (1 - smoothing) * right + smoothing * log_probs.mean(dim=-1)
    return -each[tgt_out != pad_id].mean()


@see(LOSS)
def probabilities_not_logs(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You average probabilities: the logarithm is missing.

    Then a mistake made with certainty costs hardly more than a small doubt.
    """
    p = logits.softmax(dim=-1)
    right = p.gather(-1, tgt_out[..., None])[..., 0]
    each = (1 - smoothing) * right + smoothing * p.mean(dim=-1)
    return -each[tgt_out != pad_id].mean()


@see(LOSS)
def logits_not_logs(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You take logits for log-probabilities.

    They are not normalised: what the other words get does not matter to your
    loss, and it can be pushed down without end.
    """
    right = logits.gather(-1, tgt_out[..., None])[..., 0]
    each = (1 - smoothing) * right + smoothing * logits.mean(dim=-1)
    return -each[tgt_out != pad_id].mean()


@see(LOSS)
def in_bits(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your loss is in bits, that is with logarithms to the base 2.

    Asked for are nats: the natural logarithm.
    """
    return loss_by_torch(logits, tgt_out, smoothing, pad_id) / math.log(2)


@see(LOSS)
def sign_forgotten(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your loss has the wrong sign: the better the model, the higher it is.

    Logarithms of probabilities are negative; the loss is *minus* their mean.
    """
    return -loss_by_torch(logits, tgt_out, smoothing, pad_id)


@see(LOSS)
def reshaped_for_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You give the logits the shape (batch, vocab, target) without
    transposing.

    `F.cross_entropy` wants the vocabulary on axis 1. But a view or a reshape
    leaves the numbers in their order: what stands on that axis is then a
    mixture of several tokens' answers.
    """
    batch, target, vocab = logits.shape
    mixed = logits.reshape(batch, vocab, target).transpose(1, 2)
    return loss_by_torch(mixed, tgt_out, smoothing, pad_id)


@see(LOSS)
def vocabulary_last_for_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You give `F.cross_entropy` logits with the vocabulary on the last axis.

    It looks for it on axis 1, always. Where there are as many places as
    words it raises no error.
    """
    return F.cross_entropy(
        logits, tgt_out, ignore_index=pad_id, label_smoothing=smoothing
    )


@see(LOSS)
def softmax_over_places(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your softmax runs over the places of a sentence, not over the words of
    the vocabulary.

    At each place the words compete with each other, so it is the last axis.
    """
    log_probs = logits.log_softmax(dim=1)
    right = log_probs.gather(-1, tgt_out[..., None])[..., 0]
    each = (1 - smoothing) * right + smoothing * log_probs.mean(dim=-1)
    return -each[tgt_out != pad_id].mean()


@see(LOSS)
def softmax_over_tokens(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Your softmax runs over the tokens of the batch, not over the words of
    the vocabulary.

    For each token the words compete with each other, so it is the last axis.
    """
    real = tgt_out != pad_id
    log_probs = logits[real].log_softmax(dim=0)
    right = log_probs.gather(-1, tgt_out[real][:, None]).mean()
    return -(1 - smoothing) * right - smoothing * log_probs.mean()


BY_HAND = torch.tensor(
    [[[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0], [0.0, 1.0, 3.0, 0.0]]]
)
"""The chapter's three answers: no idea, right, wrong."""


def draw_answers(draw: Draw) -> Case:
    pad_id, smoothing = draw.choice([0, 0, 3]), draw.choice([0.05, 0.1, 0.3])
    tgt_out = draw.ids(draw.size(1, 4), draw.size(2, 6), pad_id, 9)
    logits = 2 * draw.normal(*tgt_out.shape, 9)
    return case("random answers", logits, tgt_out, smoothing, pad_id)


SMOOTHED_LOSS = Exercise(
    solution=smoothed_loss,
    section=SMOOTHING,
    points=3,
    hints=(
        "First without smoothing: at which places is something asked, what "
        "is the log-probability of the right token there, and what is the "
        "mean? Then the formula has a second part, in which every word of "
        "the vocabulary counts alike.",
        "A mask of real places picks rows of logits and right tokens. Take "
        "the logarithm of the softmax in one. `gather` finds the entry of "
        "the right token in each row. The second part is a plain mean of all "
        "log-probabilities; join both by 1 - ε and ε.",
    ),
    cases=[
        case(
            "one token of three, not smoothed",
            torch.tensor([[[0.0, 1.0, 2.0]]]),
            torch.tensor([[2]]),
        ),
        case(
            "one token of four, smoothed",
            torch.tensor([[[0.0, 1.0, 0.0, 2.0]]]),
            torch.tensor([[3]]),
            0.1,
        ),
        case(
            "a token and padding, not smoothed",
            torch.tensor([[[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]]),
            torch.tensor([[1, 0]]),
        ),
        case(
            "a token and padding",
            torch.tensor([[[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]]),
            torch.tensor([[1, 0]]),
            0.3,
        ),
        case(
            "a very improbable word",
            torch.tensor([[[0.0, 0.0, 200.0]]]),
            torch.tensor([[1]]),
            0.1,
        ),
        case(
            "two tokens",
            torch.tensor([[[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]]),
            torch.tensor([[2, 2]]),
            0.1,
        ),
        case(
            "two sentences of different lengths",
            torch.tensor(
                [
                    [[0.0, 1.0, 2.0], [0.0, 2.0, 1.0], [1.0, 1.0, 0.0]],
                    [[2.0, 0.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
                ]
            ),
            torch.tensor([[2, 2, 1], [1, 0, 0]]),
            0.1,
        ),
        case(
            "padding that is not 0",
            torch.tensor([[[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]]),
            torch.tensor([[0, 1]]),
            0.1,
            1,
        ),
        case(
            "the chapter's three tokens",
            BY_HAND,
            torch.tensor([[2, 3, 1]]),
            0.1,
        ),
        case(
            "float64",
            Draw(2).normal(2, 3, 5).double(),
            torch.tensor([[4, 1, 2], [3, 0, 0]]),
            0.1,
        ),
    ],
    draw=draw_answers,
    others=[loss_by_torch, loss_written_out, loss_by_loop],
    mistakes=[
        padding_counted,
        divided_by_all_places,
        smoothing_over_padding,
        mean_of_sentence_means,
        divided_by_the_sentences,
        summed,
        padding_always_zero,
        not_smoothed,
        smoothed_the_other_way,
        spread_over_the_others,
        right_word_without_share,
        mean_over_the_vocabulary,
        padding_forbidden,
        nothing_for_padding,
        nothing_for_padding_nor_in_its_place,
        only_wrong_words_share,
        a_share_of_epsilon_each,
        epsilon_on_top,
        smoothing_subtracted,
        spread_over_logits,
        predictions_smoothed,
        entropy_taken_off,
        divergence_over_all_places,
        softmax_twice,
        log_of_a_softmax,
        probabilities_not_logs,
        logits_not_logs,
        in_bits,
        sign_forgotten,
        reshaped_for_torch,
        vocabulary_last_for_torch,
        softmax_over_places,
        softmax_over_tokens,
    ],
)

EXERCISES = [TEACHER_FORCING, LEARNING_RATE, SMOOTHED_LOSS]
"""In the order of the notebook."""
