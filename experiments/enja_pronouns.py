"""What does a translator's pronoun rest on: the source, or what is written?

Where a text speaks of one person, English *he* and *she* say the same as
Japanese 彼 and 彼女 written before. So both are set against each other:
English about him with Japanese about her, and the reverse. In
``experiments/results/enja-pronouns/pronouns.json``

- ``counted`` says how development and test sentences translate *he* and
  *she*, and how often nothing but the pronoun itself tells who is meant;
- ``first`` has development and test sentences, at their first pronoun:
  English as it is, and with *he* and *she* exchanged;
- ``second`` has sentences of all three parts that name the person twice, at
  the second pronoun: either side as it is, and exchanged. Most of them the
  model was trained on.

Each condition has the sentences' mean log-odds, in nats, of the reference's
pronoun over the other one (the word after it included, since 彼 is how 彼女
begins), and the share in which it is the more probable.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from experiments import store
from experiments.agreeing import ENDS
from experiments.lab import Record, RunContext, made_of
from experiments.translations import analysis_of_heads
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import BOS, PAD, Tokenizer
from transformer_course.decoding.translate import encode_source

HERS = {"she": "he", "herself": "himself", "hers": "his"}
HIS = {"he": "she", "himself": "herself", "him": "her", "his": "her"}
WRITTEN = {"彼女": "彼", "彼": "彼女"}
MANY = (("ら",), ("たち",))
"""Makes a pronoun plural: 彼 ら."""
GENDERED = frozenset(
    """女 女性 女の子 少女 娘 母 妻 姉 妹 男 男性 男の子 少年 息子 父 夫 兄
    弟""".split()
)
"""Words that tell a person's gender, too."""
SENTENCES = 200
"""Most sentences of each kind."""
PER_BATCH = 40


class Case(NamedTuple):
    """A sentence pair about one person, and the pronouns of its target."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    pronoun: str
    places: tuple[int, ...]
    """Place of the pronoun in the target."""


def exchanged(words: Sequence[str]) -> tuple[str, ...]:
    """English about the other one: he for she, and the reverse."""
    changed = []
    for i, word in enumerate(words):
        follows = words[i + 1] if i + 1 < len(words) else "."
        her = "him" if follows in ENDS else "his"
        changed.append((HERS | HIS | {"her": her}).get(word, word))
    return tuple(changed)


def gender_of(words: Sequence[str]) -> str | None:
    """The pronoun of the person that an English sentence is about.

    None where there is no such person, or where there are both.
    """
    hers = any(word in HERS or word == "her" for word in words)
    his = any(word in HIS for word in words)
    if hers == his:
        return None
    return "彼女" if hers else "彼"


def places_of(words: tuple[str, ...], pronoun: str) -> tuple[int, ...]:
    """Places of a pronoun, plurals apart."""
    return tuple(
        i
        for i, word in enumerate(words)
        if word == pronoun and words[i + 1 : i + 2] not in MANY
    )


def cases(pairs: Sequence[tuple[str, str]]) -> list[Case]:
    """The pairs about one person whose target says so, and says no other."""
    found = []
    for pair in pairs:
        source, target = (tuple(side.split()) for side in pair)
        pronoun = gender_of(source)
        if pronoun and WRITTEN[pronoun] not in target:
            places = places_of(target, pronoun)
            found.append(Case(source, target, pronoun, places))
    return found


def counted(found: Sequence[Case]) -> Record:
    """Count how pronouns are translated, and what is written before them."""
    counts: dict[str, Counter] = {"彼": Counter(), "彼女": Counter()}
    for case in found:
        count = counts[case.pronoun]
        count["sentences"] += 1
        count["with pronoun"] += bool(case.places)
        count["twice"] += len(case.places) > 1
        if case.places:
            before = case.target[: case.places[0]]
            count["nothing told before"] += not GENDERED.intersection(before)
    return {pronoun: dict(count) for pronoun, count in counts.items()}


# --- one side against the other ----------------------------------------------


def choices(case: Case, place: int, reverse: bool) -> list[str]:
    """The target up to a pronoun and the next word: as it is, and the other.

    Args:
        case: a sentence pair.
        place: of the pronoun in question.
        reverse: what is written before speaks of the other one.
    """
    other = WRITTEN[case.pronoun]
    before = [
        other if reverse and i in case.places else word
        for i, word in enumerate(case.target[:place])
    ]
    return [
        " ".join([*before, word, *case.target[place + 1 : place + 2]])
        for word in (case.pronoun, other)
    ]


@torch.no_grad()
def log_ps(
    model, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Log-probabilities of texts as beginnings of translations, in nats."""
    found: list[float] = []
    for start in range(0, len(pairs), PER_BATCH):
        some = pairs[start : start + PER_BATCH]
        src = pad_rows(
            [encode_source(tokenizer, source) for source, _ in some]
        )
        tgt = pad_rows([[BOS, *tokenizer.encode(text)] for _, text in some])
        logits = model(src, tgt[:, :-1]).float().log_softmax(dim=-1)
        asked = tgt[:, 1:]
        each = logits.gather(-1, asked[..., None])[..., 0]
        found += each.masked_fill(asked == PAD, 0).sum(dim=1).tolist()
    return found


def odds(
    model, tokenizer: Tokenizer, found: Sequence[Case], which: int
) -> Record:
    """Mean log-odds of the reference's pronoun, by condition.

    Args:
        model: a translator.
        tokenizer: its own.
        found: sentence pairs with so many pronouns.
        which: of the pronouns, from 0.
    """
    result: Record = {"sentences": len(found)}
    conditions = {"neither": (False, False), "English": (True, False)}
    if which:
        conditions |= {"Japanese": (False, True), "both": (True, True)}
    for name, (in_source, in_target) in conditions.items():
        pairs = []
        for case in found:
            words = exchanged(case.source) if in_source else case.source
            texts = choices(case, case.places[which], in_target)
            pairs += [(" ".join(words), text) for text in texts]
        values = torch.tensor(log_ps(model, tokenizer, pairs)).view(-1, 2)
        over = values[:, 0] - values[:, 1]
        result[name] = {
            "log_odds": round(float(over.mean()), 4),
            "share": round(float((over > 0).double().mean()), 4),
        }
    return result


def analyse(
    model, tokenizer: Tokenizer, splits: Splits, context: RunContext
) -> Iterator[str]:
    """Ask one checkpoint, and store what its pronouns rest on."""
    held_out, seen = [*splits.dev, *splits.test], list(splits.train)
    if context.smoke:  # whose grammar says less of one person
        held_out = [("she likes her book .", "彼女 は 彼女 の 本 が 好き 。")]
    kept = cases(held_out)
    twice = [c for c in [*kept, *cases(seen)] if len(c.places) > 1]
    once = [case for case in kept if case.places]
    stored = {
        **made_of("enja-pronouns", context),
        "counted": counted(kept),
        "first": odds(model, tokenizer, once[:SENTENCES], 0),
        "second": odds(model, tokenizer, twice[:SENTENCES], 1),
    }
    store.write_json(context.folder / "pronouns.json", stored, indent=1)
    yield f"counted {stored['counted']}"
    yield f"first {stored['first']}"
    yield f"second {stored['second']}"


EXPERIMENT = analysis_of_heads("enja-pronouns", analyse)
