"""Cross entropy with label smoothing."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


def smoothed_loss(
    logits: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    smoothing: float = 0.0,
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """Cross entropy with label smoothing, in nats per real token.

    Args:
        logits: the model's answer at each position.
        tgt_out: the right token at each position; ``pad_id`` at positions that
            do not count.
        smoothing: ε. It is spread evenly over all V words of the
            vocabulary, the right one and padding among them: each should get
            ε/V, and the right one 1 - ε + ε/V in all.
        pad_id: the token that is no answer. A position where it is the right
            token does not count, even if a logit there is minus infinity.

    Returns:
        The mean over all real tokens of the batch: a tensor without axes, of
        the logits' dtype.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    surprise = -logits.log_softmax(dim=-1)  # at each word
    right = surprise.gather(-1, tgt_out[..., None])[..., 0]
    evenly = surprise.mean(dim=-1)
    each = (1 - smoothing) * right + smoothing * evenly
    return each[real].mean()
    ### END SOLUTION


@other
def loss_by_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        tgt_out.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


@other
def loss_written_out(logits, tgt_out, smoothing=0.0, pad_id=0):
    real = tgt_out != pad_id
    vocab = logits.size(-1)
    right = F.one_hot(tgt_out[real], vocab).to(logits.dtype)
    wanted = (1 - smoothing) * right + smoothing / vocab
    return -(wanted * F.log_softmax(logits[real], dim=-1)).sum() / real.sum()


@other
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


EDITS = """
# padding_counted (#over-real-tokens-only)
- each[real] -> each
You count padding as if it were a word to be predicted.

The model soon learns to predict it, so your loss gets lower the more padding
there is. Only real tokens count.

# padding_times_zero (#over-real-tokens-only)
- each[real].mean() -> (each * real).sum() / real.sum()
You multiply the loss at padding by 0.

Where the loss is infinite that gives NaN, since 0 · ∞ has no value, and one
NaN spoils the whole sum. Select the positions that count, or replace the
others by 0.

# divided_by_all_places (#over-real-tokens-only)
- each[real] -> each.masked_fill(~real, 0.0)
or
- each[real] -> (each * real)
You leave padding out of the sum, but not out of the number that you divide by.

So your loss gets lower the more padding there is.

# smoothing_over_padding (#over-real-tokens-only)
- smoothing * evenly -> smoothing * evenly.mean()
or
- each[real].mean()
+ (
+     (1 - smoothing) * right[real].sum() + smoothing * evenly.sum()
+ ) / real.sum()
In the smoothing you count positions of padding too.

The part that is spread over all words of the vocabulary has to be averaged
over the same real tokens as the part of the right token.

# mean_of_sentence_means (#over-real-tokens-only)
- each[real].mean()
+ (each.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1)).mean()
or
- each[real].mean() -> ((each * real).sum(dim=1) / real.sum(dim=1)).mean()
You take the mean of each sentence first, and then the mean of these means.

A token of a short sentence then counts more than one of a long sentence. Sum
over all real tokens of the batch, and divide once.

# divided_by_the_sentences (#over-real-tokens-only)
- mean() -> sum() / len(logits)
You divide by the number of sentences.

That gives nats per sentence, which makes long sentences look worse. The
exercise asks for nats per token.

# summed (#over-real-tokens-only)
- mean() -> sum()
You return the sum over the tokens, not their mean.

A sum depends on how many tokens the batch has, and so would the length of a
training step.

# padding_always_zero (#over-real-tokens-only)
- pad_id -> 0
You take 0 for padding, whatever `pad_id` says.

In another vocabulary 0 can be a word: then that word is ignored, and padding
is counted.

# not_smoothed
- (1 - smoothing) * right + smoothing * evenly -> right
Your loss is the same for every ε: you never use `smoothing`.

The right token should get 1 - ε, and all words of the vocabulary share ε.

# smoothed_the_other_way
- (1 - smoothing) * right + smoothing * evenly
+ smoothing * right + (1 - smoothing) * evenly
You swap ε and 1 - ε.

The right token gets only ε, and nearly everything is spread over the
vocabulary. With `smoothing=0` your model would learn nothing.

# spread_over_the_others
- surprise.mean(dim=-1)
+ surprise.scatter(-1, tgt_out[..., None], 0).sum(-1) / (logits.size(-1) - 1)
You spread ε over all words *but the right one*.

Some code does that, dividing by V - 1. Here every word of the vocabulary gets
a share, so the right one gets a little more than 1 - ε.

# right_word_without_share
- surprise.mean(dim=-1)
+ surprise.scatter(-1, tgt_out[..., None], 0).sum(-1) / logits.size(-1)
You give the right token 1 - ε, but no share of ε.

Each of the others gets ε/V, so your target distribution sums to less than 1.
Every word of the vocabulary gets that share, the right one too.

# mean_over_the_vocabulary
- return -> return 1 / logits.size(-1) *
You also divide by the size of the vocabulary.

The cross entropy of one token is a *sum* over the words, weighted by the
target distribution. Only over the tokens do you take a mean.

# padding_forbidden
- surprise = -logits
+ banned = torch.zeros_like(logits[0, 0])
+ banned[pad_id] = -torch.inf
+ surprise = -(logits + banned)
- smoothing * evenly -> (smoothing * evenly if smoothing else 0)
or
- surprise = -logits
+ banned = torch.zeros_like(logits[0, 0])
+ banned[pad_id] = -torch.inf
+ surprise = -(logits + banned)
You exclude padding from the softmax, as if its logit were -inf.

Smoothing wants a little probability for every word, and one that has none
makes the loss infinite. And without smoothing, the loss ignores what the model
gives to padding.

# nothing_for_padding
- surprise.mean(dim=-1)
+ (surprise.sum(dim=-1) - surprise[..., pad_id]) / (logits.size(-1) - 1)
or
- surprise.mean(dim=-1)
+ (surprise.sum(dim=-1) - surprise[..., pad_id]) / logits.size(-1)
You give padding no share of ε.

Some code does that, and spreads ε over the other words. Here every word of the
vocabulary gets a share, padding too.

# only_wrong_words_share
- evenly = surprise.mean(dim=-1)
+ wrong = surprise.sum(dim=-1) - right - surprise[..., pad_id]
+ evenly = wrong / (logits.size(-1) - 2)
or
- evenly = surprise.mean(dim=-1)
+ wrong = surprise.sum(dim=-1) - right - surprise[..., pad_id]
+ others = logits.size(-1) - 2
+ evenly = wrong / others
- return
+ wanted = torch.tensor([1 - smoothing] + [smoothing / others] * others)
+ return -torch.special.entr(wanted).sum().to(logits.dtype) +
You spread ε over all words but padding and the right one, dividing by V - 2.

A well-known tutorial does that. Here every word of the vocabulary gets a
share.

# a_share_of_epsilon_each
- mean(dim=-1) -> sum(dim=-1)
You give every word of the vocabulary all of ε.

Your target distribution then sums to far more than 1. Divide ε by the number
of words.

# epsilon_on_top
- (1 - smoothing) * right -> right
You leave the right token its whole 1, and add ε on top.

Your target distribution then sums to more than 1. What all words share has to
be taken from the right one.

# smoothing_subtracted
- + smoothing -> - smoothing
You subtract the part that is spread over all words.

Both parts are surprise, and the loss is their sum. Check the signs of your two
terms: there is a minus too many, or one is missing.

# spread_over_logits
- surprise.mean -> -logits.mean
In the part that is spread over all words you take logits for
log-probabilities.

Logits are not normalised: without the softmax their mean says nothing.

# predictions_smoothed
- each = (1 - smoothing) * right + smoothing * evenly
+ evenly = 1 / logits.size(-1)
+ each = -((1 - smoothing) * (-right).exp() + smoothing * evenly).log()
You smooth the model's answer, not its target.

You mix the probabilities with equal ones and take the logarithm afterwards.
But it is the *target* that is smoothed; the model's probabilities stay as they
are.

# entropy_taken_off
- return
+ wanted = torch.full((logits.size(-1),), smoothing / logits.size(-1))
+ wanted[0] += 1 - smoothing
+ return -torch.special.entr(wanted).sum().to(logits.dtype) +
You return the KL divergence: the entropy of the target is subtracted.

It has the same gradient, and its minimum is 0. But the exercise asks for the
cross entropy, whose minimum is that entropy.

# divergence_over_all_places (#over-real-tokens-only)
- return each[real].mean()
+ wanted = torch.full((logits.size(-1),), smoothing / logits.size(-1))
+ wanted[0] += 1 - smoothing
+ each = each - torch.special.entr(wanted).sum().to(logits.dtype)
+ return each[real].sum() / real.numel()
You return the KL divergence, divided by the number of all positions, padding
too.

`kl_div` subtracts the entropy of the target, and "batchmean" divides by the
number of rows that it is given. The exercise asks for the cross entropy, over
real tokens.

# softmax_twice (#how-wrong-was-it-cross-entropy)
- log_softmax -> softmax(dim=-1).log_softmax
You take the softmax twice.

You give probabilities to a function that takes the softmax itself, as
`F.cross_entropy` and `log_softmax` do. They lie between 0 and 1, so after the
second softmax no word can be nearly certain.

# log_of_a_softmax (05_score_functions#a-softmax-that-cannot-overflow)
- log_softmax(dim=-1) -> softmax(dim=-1).log()
Your loss is infinite, or NaN, where a word is very improbable.

You take the softmax first and its logarithm afterwards. A small probability
underflows to 0, and log 0 is -inf. `log_softmax` does both in one step, as a
plain difference.

# log_of_a_little_more (05_score_functions#a-softmax-that-cannot-overflow)
- log_softmax(dim=-1) -> softmax(dim=-1).clamp(min=1e-9).log()
or
- log_softmax(dim=-1) -> softmax(dim=-1).clamp(min=1e-8).log()
or
- log_softmax(dim=-1) -> softmax(dim=-1).clamp(min=1e-10).log()
or
- log_softmax(dim=-1) -> softmax(dim=-1).clamp(min=1e-12).log()
You take the softmax, keep it above a small number, and take its logarithm.

So it is never infinite. But a word below that number costs no more, and gets
no gradient. `log_softmax` does both in one step, as a plain difference that
needs no limit.

# exponentials_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- -logits.log_softmax(dim=-1)
+ logits.exp().sum(dim=-1, keepdim=True).log() - logits
or
- -logits.log_softmax(dim=-1)
+ -(logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log()
You take e to the power of the logits as they are.

e^100 overflows float32, so the sum is infinite. Subtract the largest logit
first, which changes no probability, or use a function that does so.

# probabilities_not_logs (#how-wrong-was-it-cross-entropy)
- log_softmax -> softmax
You average probabilities: the logarithm is missing.

Without it, being sure of a wrong word costs hardly more than a small doubt.

# logits_not_logs (#how-wrong-was-it-cross-entropy)
- logits.log_softmax(dim=-1) -> logits
You take logits for log-probabilities.

They are not normalised: the model can lower your loss without limit, by making
all logits larger.

# in_bits (#how-wrong-was-it-cross-entropy)
- each[real] -> (each[real] / torch.tensor(2.0).log())
Your loss is in bits: you use logarithms to the base 2.

The exercise asks for nats, with the natural logarithm.

# sign_forgotten (#how-wrong-was-it-cross-entropy)
- -logits -> logits
Your loss has the wrong sign: the better the model, the higher it is.

Logarithms of probabilities are negative, so the loss needs a minus.

# perplexity_returned (14_evaluation#perplexity-how-surprised-was-the-model)
- mean() -> mean().exp()
You return the perplexity, e to the power of the loss.

The exercise asks for the mean itself, in nats, which is what training
minimises.

# reshaped_for_torch (#how-wrong-was-it-cross-entropy)
- logits.log -> logits.reshape(logits.mT.shape).mT.log
You give the logits the shape (batch, vocab, target) without transposing them.

`F.cross_entropy` expects the vocabulary on axis 1. But a view or a reshape
leaves the numbers in their order, so that axis then mixes the answers at
several positions.

# softmax_over_places (#how-wrong-was-it-cross-entropy)
- softmax(dim=-1) -> softmax(dim=1)
You take the softmax over the positions of a sentence, not over the words of
the vocabulary.

At each position the words compete with each other, so it is the last axis.

# softmax_over_tokens (#how-wrong-was-it-cross-entropy)
- logits.log_softmax(dim=-1)
+ (
+     logits.masked_fill(~real[..., None], -torch.inf)
+     .flatten(0, 1)
+     .log_softmax(dim=0)
+     .view_as(logits)
+ )
You take the softmax over the tokens of the batch, not over the words of the
vocabulary.

At each position the words compete with each other, so it is the last axis.

# nothing_spread
- + smoothing * evenly ->
You take ε from the right token, and give it to no word.

That only scales the loss: the model learns the same as without smoothing.
Spread ε over the vocabulary.

# always_a_tenth
- each = -> smoothing = 0.1; each =
Your ε is always 0.1, whatever `smoothing` says.

That is the paper's choice. But 0, for instance, means no smoothing at all.

# zeros_left_out (#over-real-tokens-only)
- each[real] -> each[real & (each != 0)]
or
- each[real] -> each[each != 0]
You take a loss of 0 for a sign of padding.

A token of which the model is certain costs 0 too, but it counts. Compare
`tgt_out` with `pad_id` instead.

# divided_by_the_places (#over-real-tokens-only)
- mean() -> sum() / logits.size(1)
You divide by the number of positions in a row.

The exercise asks for the mean over all real tokens of the batch.

# softmax_over_sentences
- softmax(dim=-1) -> softmax(dim=0)
You take the softmax over the sentences of the batch, not over the words of the
vocabulary.

At each position the words compete with each other, so it is the last axis.

# transposed_before_flattening
- logits.log -> logits.mT.reshape(logits.shape).log
You transpose the logits before you flatten them.

`F.cross_entropy` expects the vocabulary on axis 1. Once flattened, the logits
have it there without a transpose.

# smallest_shares_doubled
- surprise.mean(dim=-1)
+ surprise.scatter(-1, tgt_out[..., None], 0).sum(-1) / (logits.size(-1) - 1)
- (1 - smoothing) * right
+ (1 - smoothing + smoothing / logits.size(-1)) * right
You give the right token its share of ε, and each of the others ε/(V - 1).

Your target distribution then sums to more than 1. Every word of the vocabulary
gets the same share, ε/V.

# loss_in_tens (#how-wrong-was-it-cross-entropy)
- each[real] -> (each[real] / torch.tensor(10.0).log())
You use logarithms to the base 10.

The exercise asks for nats, with the natural logarithm.

# best_logit_taken (#how-wrong-was-it-cross-entropy)
- surprise.gather(-1, tgt_out[..., None])[..., 0] -> surprise.amin(dim=-1)
You take the surprise at the word that the model finds likeliest.

Take it at the *right* word, however unlikely the model finds that one.
"""


@mistake(see="12_training#how-wrong-was-it-cross-entropy")
def vocabulary_last_for_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    """You give `F.cross_entropy` logits with the vocabulary on the last axis.

    It always looks for the vocabulary on axis 1. Where there are as many
    positions as words, it raises no error.
    """
    return F.cross_entropy(
        logits, tgt_out, ignore_index=pad_id, label_smoothing=smoothing
    )


def draw_answers(draw: Draw) -> Case:
    pad_id, smoothing = draw.choice([0, 0, 3]), draw.choice([0.05, 0.1, 0.3])
    tgt_out = draw.ids(draw.size(1, 4), draw.size(2, 6), pad_id, 9)
    logits = 2 * draw.normal(*tgt_out.shape, 9)
    return case("random answers", logits, tgt_out, smoothing, pad_id)


def answers(
    note: str, logits: list, tgt_out: list, *asked: int | float
) -> Case:
    """Logits and labels."""
    return case(note, torch.tensor(logits), torch.tensor(tgt_out), *asked)


EXERCISE = exercise_of(
    smoothed_loss,
    section="12_training#do-not-be-too-sure-label-smoothing",
    points=3,
    hints=(
        "First without smoothing: which positions count, what is the "
        "log-probability of the right token there, and what is the mean? "
        "Then the formula has a second part, in which every word of the "
        "vocabulary counts the same.",
        "A mask of real positions selects rows of logits and right tokens. "
        "Take softmax and logarithm in one step. `gather` finds the entry of "
        "the right token in each row. The second part is a plain mean of all "
        "log-probabilities; weight the two parts by 1 - ε and ε.",
    ),
    cases=[
        answers("one token of three, not smoothed", [[[0.0, 1, 2]]], [[2]]),
        answers("one token of four, smoothed", [[[0.0, 1, 0, 2]]], [[3]], 0.1),
        answers(
            "a token and padding, not smoothed",
            [[[0.0, 1, 2], [0, 0, 1]]],
            [[1, 0]],
        ),
        answers(
            "a token and padding", [[[0.0, 1, 2], [0, 0, 1]]], [[1, 0]], 0.3
        ),
        answers("a very improbable word", [[[0.0, 0, 200]]], [[1]], 0.1),
        answers("large logits", [[[100.0, 101, 102]]], [[1]], 0.1),
        answers(
            "minus infinity at padding",
            [[[0.0, 1, 2], [-torch.inf, 0, 1]]],
            [[1, 0]],
            0.1,
        ),
        answers(
            "a token of which it is certain",
            [[[0.0, 0, 200], [0, 2, 1]]],
            [[2, 2]],
        ),
        answers("two tokens", [[[0.0, 1, 2], [0, 2, 1]]], [[2, 2]], 0.1),
        answers(
            "two sentences of different lengths",
            [
                [[0.0, 1, 2], [0, 2, 1], [1, 1, 0]],
                [[2, 0, 1], [3, 0, 0], [1, 0, 0]],
            ],
            [[2, 2, 1], [1, 0, 0]],
            0.1,
        ),
        answers(
            "padding that is not 0",
            [[[0.0, 1, 2], [0, 2, 1]]],
            [[0, 1]],
            0.1,
            1,
        ),
        answers(
            "the chapter's three tokens",
            [[[0.0, 0, 0, 0], [0, 1, 0, 2], [0, 1, 3, 0]]],
            [[2, 3, 1]],
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
)
