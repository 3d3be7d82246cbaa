"""Perplexity of a text."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def text_perplexity(
    log_probs: Float[Tensor, "batch target"],
    tgt_out: Int[Tensor, "batch target"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """The perplexity of a text, per token.

    Args:
        log_probs: the natural logarithm of the probability that the model gave
            to the right token, at each position; at padding it may be any
            number, and minus infinity.
        tgt_out: the right tokens; ``pad_id`` fills up. One at least is real.
        pad_id: the token that counts nowhere. All others are real, eos too.

    Returns:
        The number of equally likely tokens that would leave one as unsure,
        over all real tokens of the text, each of which counts alike: a tensor
        without axes, of the dtype of `log_probs`.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    nats = -log_probs[real]
    return nats.mean().exp()
    ### END SOLUTION


@other
def perplexity_by_sums(log_probs, tgt_out, pad_id=0):
    real = (tgt_out != pad_id).to(log_probs.dtype)
    nats = -torch.where(real > 0, log_probs, 0).sum()
    return torch.exp(nats / real.sum())


@other
def perplexity_in_bits(log_probs, tgt_out, pad_id=0):
    bits = -log_probs.masked_select(tgt_out != pad_id) / math.log(2)
    return 2 ** bits.mean()


@other
def perplexity_by_loop(log_probs, tgt_out, pad_id=0):
    nats, tokens = 0.0, 0
    for row, ids in zip(log_probs, tgt_out.tolist(), strict=True):
        for log_p, token in zip(row, ids, strict=True):
            if token != pad_id:
                nats = nats - log_p
                tokens += 1
    return (nats / tokens).exp()


EDITS = """
# padding_counted (12_training#over-real-tokens-only)
- [real] ->
You count padding.

"What comes after the end?" is easily answered, so the text looks less
surprising than it is.

# divided_by_all_places (12_training#over-real-tokens-only)
- mean() -> sum().div(real.numel())
or
- [real] -> * real
You leave padding out of the sum, but not out of the number that you divide by.

So the text looks less surprising than it is.

# padding_always_zero
- pad_id -> 0
You take 0 for padding, whatever `pad_id` says.

Ids are names: elsewhere 0 may be a word, and padding another number.

# to_the_base_of_two
- return -> return 2 **
- .exp() ->
or
- return -> return 10 **
- .exp() ->
You raise 2, or 10, to the mean surprise.

These logarithms are natural, so it has to be e. (2 goes with bits, which are
logarithms to the base of 2.)

# bits_to_the_base_of_e
- mean() -> mean().div(math.log(2))
You convert nats to bits, and then take e to their power.

With bits it is 2 that is raised to the power, with nats it is e. Either will
do, but both steps have to match.

# cross_entropy_itself
- .exp() ->
or
- nats.mean().exp() -> nats.mean() / math.log(2)
You return the cross entropy, in nats or in bits.

The perplexity is e to the power of that, if it is in nats. For six equally
likely words the cross entropy is 1.79 nats, and the perplexity 6.

# sign_forgotten
- -log_probs -> log_probs
or
- return -> return 1 /
You return 1 over the perplexity: a sign is missing.

It lies between 0 and 1, and is higher for the better model. It is a mean
*probability*.

# mean_of_sentences
- return nats.mean().exp()
+ sums = torch.where(real, -log_probs, 0).sum(dim=1)
+ return (sums / real.sum(dim=1)).exp().mean()
You take the mean of the sentences' perplexities.

One bad sentence then weighs as much as many good ones. Take the mean of the
*surprise*, over all tokens, and the exponential once.

# each_sentence_alike
- -log_probs[real]
+ torch.where(real, -log_probs, 0).sum(dim=1) / real.sum(dim=1)
You take the mean of the sentences' mean surprise.

Each sentence then counts alike, however long it is. Each *token* has to count
alike: divide once, by the number of all tokens.

# mean_of_tokens
- mean().exp() -> exp().mean()
or
- nats.mean().exp() -> nats.exp().sum()
You take 1 over the probability of each token, and the mean or sum of these.

A single improbable token then decides nearly all. Take the mean of the
logarithms, and the exponential after it.

# mean_probability
- nats.mean().exp() -> 1 / (-nats).exp().mean()
You return 1 over the mean probability.

Improbable tokens hardly count in it. Take the mean of the *logarithms*, and
the exponential after it.

# of_the_whole_text
- mean -> sum
You do not divide by the number of tokens.

1 over the probability of the text as a whole grows with every word. The
exercise asks for the perplexity *per token*.

# end_left_out
- nats =
+ real = real & (tgt_out != 2)
+ nats =
You leave out eos.

The model has to guess where a sentence ends, too. Only padding does not count.

# per_sentence
- mean() -> sum().div(len(tgt_out))
or
- -log_probs[real] -> torch.where(real, -log_probs, 0).sum(dim=1)
- nats.mean().exp() -> nats.exp().mean()
You divide by the number of sentences, not of tokens.

Then long sentences look worse, though each of their words may be easy.

# infinity_times_zero (12_training#over-real-tokens-only)
- -log_probs[real] -> -(log_probs * real).sum() / real.sum()
Where padding has minus infinity, your result is NaN.

You multiply by 0 what does not count, and 0 times infinity is NaN. Choose the
real positions, or put 0 in the others.

# padding_by_its_logarithm
- tgt_out != pad_id -> log_probs != 0
You take for padding what has a logarithm of 0.

That is the logarithm of 1: a token that the model was sure of. It is real, and
counts. The ids say what is padding.

# padding_by_its_infinity
- tgt_out != pad_id -> log_probs.isfinite()
or
- -log_probs[real] -> -log_probs.nan_to_num(neginf=0.0)
- mean() -> sum().div(real.sum())
You leave out only what has a logarithm of minus infinity.

Padding may have any number there. The ids say what is padding.

# logarithm_once_more
- -log_probs[real] -> -log_probs[real].log()
You take the logarithm of logarithms.

They are below 0 and have none: the result is NaN.

# first_token_left_out (12_training#over-real-tokens-only)
- nats =
+ real[:, 0] = False
+ nats =
You leave out the first token of each sentence.

`tgt_out` is shifted already: its first token is the first that was guessed.

# last_token_left_out (12_training#over-real-tokens-only)
- nats =
+ real, log_probs = real[:, :-1], log_probs[:, :-1]
+ nats =
or
- nats =
+ real = real & real.roll(-1, 1)
+ nats =
You leave out the last token.

`tgt_out` is shifted already: its last token was guessed too.

# greater_than_padding
- tgt_out != pad_id -> tgt_out > pad_id
You take for real what has a larger id than padding.

Ids are names, and their order means nothing: where `pad_id` is not 0, smaller
ids are words too.

# padding_taken
- tgt_out != pad_id -> tgt_out == pad_id
You use the padding, and leave out what is real.

Where nothing is padded nothing is left, and the mean of nothing is NaN.

# probabilities_vanish
- -log_probs[real] -> -log_probs[real].exp().log()
or
- nats.mean().exp() -> (1 / (-nats).exp().prod()) ** (1 / real.sum())
or
- nats.mean().exp() -> (-nats).exp().prod() ** (-1 / real.sum())
Where a probability is very small, your result is infinite.

You go back to probabilities. e⁻¹²⁰ underflows to 0 in float32, and a product
of many is soon 0 too. Stay with the logarithms until the mean is taken.

# cut_off
- -log_probs[real] -> -log_probs[real].clamp(min=-100)
or
- -log_probs[real] -> -(log_probs[real].exp() + 1e-9).log()
or
- -log_probs[real] -> -(log_probs[real].exp() + 1e-8).log()
or
- -log_probs[real] -> -(log_probs[real].exp() + 1e-10).log()
You cut small probabilities off, or add a little to each.

A token that the model considered all but impossible costs as much as its
logarithm says.

# negative
- return -> return -
Your result is negative: a minus stands outside the exponential.

It belongs in the exponent. A perplexity is 1 or more.

# one_too_many
- mean() -> sum().div(real.sum() + 1)
or
- mean() -> sum().div(real.sum() - 1)
You divide by one token more, or one fewer, than there are.

Every real token counts once, and nothing else does. At least one is real, so
you never divide by 0.

# weighted_by_probability
- -log_probs[real] -> -log_probs[real] * log_probs[real].exp()
or
- -log_probs[real] -> -log_probs[real] * log_probs[real].exp()
- mean -> sum
You multiply each logarithm by its probability.

An entropy does so, where all tokens that may come are summed. Here each token
*has* come, and counts once.

# longest_sentence
- mean() -> sum().div(tgt_out.size(1))
or
- -log_probs[real] -> torch.where(real, -log_probs, 0).mean(dim=1)
- nats.mean().exp() -> nats.exp().mean()
You divide by the length of the longest sentence.

Divide by the number of real tokens, of all sentences together.

# normalized_again
- nats =
+ log_probs = log_probs.log_softmax(dim=-1)
+ nats =
You put the logarithms through a softmax, along the sentence.

They are logarithms of probabilities already, each from a softmax over the
vocabulary. Along a sentence nothing sums to one.

# first_sentence_only
- log_probs[real] -> log_probs[0][real[0]]
or
- log_probs[real] -> log_probs[-1][real[-1]]
You look at one sentence only.

All real tokens of the text count, of all its sentences.

# divided_afterwards
- nats.mean().exp() -> nats.sum().exp() / real.sum()
You divide by the number of tokens after the exponential.

Divide the sum of the logarithms: that is their mean. The exponential comes
last.
"""


def logs(*rows: list[float]) -> Tensor:
    """Log probabilities, given as probabilities."""
    return torch.tensor(rows).log()


def draw_surprise(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 6), pad_id)
    return case("random tokens", -draw.normal(*ids.shape).abs(), ids, pad_id)


EXERCISE = exercise_of(
    text_perplexity,
    section="14_evaluation#perplexity-how-surprised-was-the-model",
    points=1,
    hints=(
        "A die that is thrown ten times is as surprising at each throw as at "
        "the others: 1/6. Follow that through the formula: what is summed, "
        "what is it divided by, and what is done last?",
        "Pick the logarithms at real positions, of all sentences together. "
        "Minus their mean is the cross entropy; one function more.",
    ),
    cases=[
        case("a die", logs([1 / 6]), torch.tensor([[4]])),
        case(
            "an unsure token and a sure one",
            logs([1 / 4, 1.0]),
            torch.tensor([[4, 2]]),
        ),
        case(
            "a token and padding", logs([1 / 8, 0.9]), torch.tensor([[2, 0]])
        ),
        case(
            "minus infinity at padding",
            logs([1 / 4, 1 / 2, 0.0]),
            torch.tensor([[5, 2, 0]]),
        ),
        case(
            "padding that is not 0",
            logs([1 / 2, 1 / 8, 1.0]),
            torch.tensor([[0, 5, 1]]),
            1,
        ),
        case(
            "two sentences of different lengths",
            logs([1 / 2, 1 / 4, 1 / 2], [1 / 8, 0.9, 0.9]),
            torch.tensor([[5, 6, 2], [2, 0, 0]]),
        ),
        case(
            "a token that was all but impossible",
            torch.tensor([[-120.0, -0.5, -1.0, -0.5]]),
            torch.tensor([[7, 5, 9, 2]]),
        ),
        case(
            "float64",
            -Draw(3).normal(2, 4).double().abs(),
            torch.tensor([[7, 8, 9, 2], [4, 2, 0, 0]]),
        ),
    ],
    draw=draw_surprise,
)
