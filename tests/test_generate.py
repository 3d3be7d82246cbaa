"""Laws of the searches: cached = uncached, beam 1 = greedy, the best found."""

import itertools
import math

import pytest
import torch
from tiny import (
    POSITIONS,
    VOCAB,
    decided,
    on_each_device,
    ragged_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch import nn

from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.generate import (
    beam_search,
    greedy_search,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    length_penalty,
    sample,
)
from transformer_course.decoding.search import EXTRA_LENGTH, last_logits
from transformer_course.errors import ConfigError, DivergedError
from transformer_course.models.ensemble import Ensemble
from transformer_course.models.masks import padding_mask
from transformer_course.models.recurrent import RecurrentTranslator

TRANSLATORS = [*POSITIONS, "gru", "ensemble"]
each_translator = pytest.mark.parametrize("kind", TRANSLATORS)
each_cache = pytest.mark.parametrize("kind", ["rotary", "gru", "ensemble"])
"""Those whose caches are of different kinds."""
each_language_model = pytest.mark.parametrize("kind", POSITIONS)
each_search = pytest.mark.parametrize(
    "search", [greedy_search, sample, beam_search]
)


SOURCES = ragged_ids([7, 4, 1, 5, 6, 2, 7, 3], seed=1)
PROMPTS = ragged_ids([3, 1, 4, 2, 4, 1], seed=2)


def translator(kind: str, device="cpu", **changes) -> nn.Module:
    if kind == "ensemble":
        kinds = ("rotary", "gru", "learned")
        return Ensemble([translator(k, device, **changes) for k in kinds])
    if kind == "gru":
        return decided(tiny_gru(**changes)).to(device)
    return decided(tiny_transformer(position=kind, **changes)).to(device)


def language_model(kind: str, device="cpu") -> nn.Module:
    return decided(tiny_language_model(position=kind)).to(device)


def searches(model, src, cached, **arguments):
    """What each way of searching writes."""
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(0)
    common = {"max_length": 12, "cached": cached, **arguments}
    beams = beam_search(model, src, beam_size=3, **common)
    return {
        "greedy": greedy_search(model, src, **common),
        "sampled": sample(model, src, generator=generator, **common),
        "beam": [[h.ids for h in beam] for beam in beams],
    }


class Chain(nn.Module):
    """A model whose next token depends on the last one only.

    Args:
        logits: row i says what follows token i; one row says it for all.
    """

    class Cache:
        length = 0  # nothing to remember: all of the target is read again

        def select(self, rows, sources=None):
            pass

    def __init__(self, logits):
        super().__init__()
        vocab = logits.size(-1)
        self.table = nn.Parameter(logits.expand(vocab, vocab).clone())

    def decode(self, tgt_in, memory=None, src_mask=None, cache=None):
        return self.table[tgt_in]

    def new_cache(self):
        return self.Cache()


def drawn_shares(logits, rows: int = 4000, **arguments):
    """How often each token comes first, over many draws."""
    first = sample(
        Chain(logits),
        prefix=torch.empty(rows, 0, dtype=torch.long),
        max_length=1,
        generator=torch.Generator().manual_seed(0),
        **arguments,
    )
    ids = [row[0] if row else EOS for row in first]
    counts = torch.bincount(torch.tensor(ids), minlength=logits.numel())
    return counts / rows


def assert_shares(shares, probabilities, rows: int = 4000):
    """Each share within five standard deviations of its probability."""
    deviation = (probabilities * (1 - probabilities) / rows).sqrt()
    assert ((shares - probabilities).abs() <= 5 * deviation + 1e-9).all()


# --- a prompt ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sinusoidal", "gru"])
def test_of_a_prompt_the_last_position_alone_has_logits(kind):
    model, prompt = translator(kind), ragged_ids([7, 7])
    source = model.encode(SOURCES[:2]), padding_mask(SOURCES[:2], PAD)
    made = []
    with torch.no_grad():
        every = model.decode(prompt, *source)
        model.to_logits.register_forward_hook(
            lambda _, __, logits: made.append(logits.size(1))
        )
        found = last_logits(model, prompt, *source, cache=model.new_cache())
        torch.testing.assert_close(found, every[:, -1])
        assert model.decode(prompt, *source).shape == every.shape
    assert made == [1, 7]


# --- the cache --------------------------------------------------------------


@on_each_device
@each_translator
def test_cached_equals_uncached_token_for_token(device, kind):
    model = translator(kind, device)
    with_cache = searches(model, SOURCES, cached=True)
    assert with_cache == searches(model, SOURCES, cached=False)


@on_each_device
@each_language_model
def test_cached_equals_uncached_with_ragged_prompts(device, kind):
    model = language_model(kind, device)
    with_cache = searches(model, None, cached=True, prefix=PROMPTS)
    without = searches(model, None, cached=False, prefix=PROMPTS)
    assert with_cache == without


def projections_of_memory(model: nn.Module) -> list[nn.Module]:
    """The layers that make keys and values of a source."""
    if isinstance(model, Ensemble):
        return [p for one in model.models for p in projections_of_memory(one)]
    if isinstance(model, RecurrentTranslator):
        return [model.score.of_key]
    attentions = [layer.cross_attention for layer in model.decoder.layers]
    return [p for a in attentions for p in (a.to_key, a.to_value)]


@each_search
@each_cache
def test_a_memory_is_projected_once_and_shared_by_its_beams(search, kind):
    """Once for each source sentence: neither for each token nor each beam."""
    model, shapes = translator(kind), []
    projections = projections_of_memory(model)
    for layer in projections:
        layer.register_forward_hook(
            lambda _, given, __: shapes.append(given[0].shape[:2])
        )
    search(model, SOURCES, max_length=12)
    assert shapes == [SOURCES.shape] * len(projections)


@each_search
def test_each_target_token_is_projected_once(search):
    model, shapes = translator("rotary"), []
    model.decoder.layers[0].self_attention.to_key.register_forward_hook(
        lambda _, given, __: shapes.append(given[0].shape[:2])
    )
    search(model, SOURCES, max_length=12)
    beams = 5 if search is beam_search else 1
    assert 1 < len(shapes) <= 12
    assert set(shapes) == {(len(SOURCES) * beams, 1)}


# --- greedy -----------------------------------------------------------------


def greedy_by_hand(model, *src, prefix=None, max_length=12):
    """One sentence, or text, all of it anew for each token."""
    ids = [] if prefix is None else prefix.tolist()
    while len(ids) < max_length:
        tgt = with_bos(torch.tensor([ids], dtype=torch.long))
        logits = model(*src, tgt)[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        token = int(logits.argmax())
        if token == EOS:
            break
        ids.append(token)
    return ids


@each_translator
def test_greedy_in_a_batch_equals_by_hand_alone(kind):
    model, sources = translator(kind), SOURCES[:4]
    written = greedy_search(model, sources, max_length=12)
    for src, ids in zip(sources, written, strict=True):
        alone = src[src != PAD][None]
        assert ids == greedy_by_hand(model, alone)


@each_language_model
def test_prompts_in_a_batch_equal_by_hand_alone(kind):
    model = language_model(kind)
    written = greedy_search(model, prefix=PROMPTS, max_length=12)
    for prompt, ids in zip(PROMPTS, written, strict=True):
        alone = prompt[prompt != PAD]
        assert ids[: len(alone)] == alone.tolist()
        assert ids == greedy_by_hand(model, prefix=alone)


@each_cache
def test_a_translation_can_be_made_to_begin_with_a_prefix(kind):
    model = translator(kind)
    prefix = ragged_ids([2, 1, 3, 2, 1, 2, 3, 1], seed=3)
    for ids in searches(model, SOURCES, True, prefix=prefix).values():
        for row, wanted in zip(ids, prefix, strict=True):
            wanted = wanted[wanted != PAD].tolist()
            hypotheses = row if isinstance(row[0], list) else [row]
            assert all(h[: len(wanted)] == wanted for h in hypotheses)


@pytest.mark.parametrize("kind", ["learned", "gru", "ensemble"])
def test_a_model_in_training_writes_what_it_writes_in_evaluation(kind):
    model = translator(kind, dropout=0.5)
    calm = searches(model.eval(), SOURCES, cached=True)
    assert searches(model.train(), SOURCES, cached=True) == calm
    assert all(module.training for module in model.modules())


def test_each_source_needs_one_prefix():
    prefix = ragged_ids([2] * 7)
    with pytest.raises(ConfigError, match=f"7, .* {len(SOURCES)}: give"):
        greedy_search(translator("gru"), SOURCES, prefix=prefix)


@each_search
@pytest.mark.parametrize("value", [torch.nan, -torch.inf])
def test_predictions_that_are_no_numbers_are_refused(search, value):
    """From the first of them on: nothing is written by them."""
    model = Chain(torch.full((VOCAB,), value))
    with pytest.raises(DivergedError, match="earlier checkpoint"):
        search(model, prefix=PROMPTS, max_length=12)


def test_pad_and_bos_are_never_written():
    logits = torch.zeros(VOCAB)
    logits[[PAD, BOS]] = 50.0
    written = searches(Chain(logits), None, True, prefix=PROMPTS)
    for prompt, ids in zip(PROMPTS, written["sampled"], strict=True):
        assert not {PAD, BOS} & set(ids)
        assert len(ids) > int((prompt != PAD).sum()) or EOS not in ids


@each_search
def test_by_default_a_target_is_at_most_50_longer_than_its_own_source(search):
    """Whatever stands beside it in the batch (the paper's section 6.1)."""
    model = translator("gru")
    with torch.no_grad():
        model.to_logits.bias[EOS] = -50.0
    src = ragged_ids([7, 2])
    for row, ids in zip(src, search(model, src), strict=True):
        ids = ids[0].ids if search is beam_search else ids
        assert len(ids) == int((row != PAD).sum()) + EXTRA_LENGTH


def test_a_prompt_longer_than_the_target_may_be_is_refused():
    with pytest.raises(ConfigError, match="prefix has 4 tokens.*is 3"):
        greedy_search(language_model("none"), prefix=PROMPTS, max_length=3)


def test_a_length_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="max_length is 2.5: expected"):
        greedy_search(translator("none"), SOURCES, max_length=2.5)


# --- sampling ---------------------------------------------------------------


CUTS = {"top_k": (keep_top_k, 3), "top_p": (keep_top_p, 0.7)}
CUTS |= {"min_p": (keep_min_p, 0.3), "": (keep_top_k, 0)}


@pytest.mark.parametrize(
    ("keep", "setting", "kept"),
    [
        (keep_top_k, 2, {1, 3}),
        (keep_top_k, 0, {0, 1, 2, 3}),
        (keep_top_k, 9, {0, 1, 2, 3}),
        (keep_top_p, 0.4, {1}),
        (keep_top_p, 0.79, {1, 3}),
        (keep_top_p, 0.9, {0, 1, 3}),
        (keep_top_p, 0.99, {0, 1, 2, 3}),
        (keep_min_p, 0.4, {1, 3}),
        (keep_min_p, 0.0, {0, 1, 2, 3}),
    ],
)
def test_what_is_kept_by_hand(keep, setting, kept):
    """Of four, which reach p, or at least .4 of the likeliest, .5?"""
    logits = torch.tensor([[0.15, 0.5, 0.05, 0.3]]).log()
    found = keep(logits, setting)
    assert set(found[0].isfinite().nonzero().flatten().tolist()) == kept
    assert set(found[0, [*kept]].tolist()) <= set(logits[0].tolist())


@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p"])
def test_each_row_keeps_what_it_would_keep_alone(name):
    keep, setting = CUTS[name]
    generator = torch.Generator().manual_seed(0)
    spread = torch.linspace(0.5, 3, 12)[:, None]  # some rows are surer
    logits = spread * torch.randn(12, VOCAB, generator=generator)
    alone = torch.cat([keep(row[None], setting) for row in logits])
    assert torch.equal(keep(logits, setting), alone)
    assert len(alone.isfinite().unique(dim=0)) > 10


LOGITS = torch.tensor([-50.0, -50.0, 0.2, -50.0, 1.0, 0.1, -1.0, 0.5])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", CUTS)
def test_tokens_come_as_often_as_the_softmax_says(temperature, name):
    """Of what is left when the scaled logits have lost their tail."""
    keep, setting = CUTS[name]
    cut = {name: setting} if name else {}
    shares = drawn_shares(LOGITS, temperature=temperature, **cut)
    kept = keep(LOGITS[None] / temperature, setting)[0]
    assert_shares(shares, kept.softmax(dim=-1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"min_p": 1.5},
    ],
    ids=str,
)
def test_ways_of_sampling_that_make_no_sense_are_refused(wrong):
    name = next(iter(wrong))
    with pytest.raises(ConfigError, match=f"{name} (is )?{wrong[name]}"):
        sample(Chain(LOGITS), prefix=PROMPTS[:, :0], **wrong)


# --- beam search ------------------------------------------------------------


@on_each_device
@each_cache
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_of_one_is_greedy(device, kind, alpha):
    model = translator(kind, device)
    beams = beam_search(
        model, SOURCES, beam_size=1, alpha=alpha, max_length=12
    )
    greedy = greedy_search(model, SOURCES, max_length=12)
    assert [beam[0].ids for beam in beams] == greedy


def log_prob_of(model, src, ids, ended):
    """Teacher forcing: the model's own log-probability of a target."""
    target = ids + [EOS] * ended
    tgt_in = with_bos(torch.tensor([target]))[:, :-1]
    log_probs = model(src, tgt_in)[0].log_softmax(dim=-1)
    return float(log_probs[range(len(target)), target].sum().detach())


def every_target(tokens, longest):
    """All there are: ended ones, and those that the limit cut off."""
    for length in range(longest):
        for ids in itertools.product(tokens, repeat=length):
            yield list(ids), True
    for ids in itertools.product(tokens, repeat=longest):
        yield list(ids), False


@pytest.mark.parametrize("kind", ["sinusoidal", "gru"])
def test_a_beam_that_holds_everything_ranks_everything(kind):
    """Brute force: every target of at most three tokens, by its score."""
    model = translator(kind, vocab_size=6)
    sources = ragged_ids([3, 2], vocab=6)
    targets = list(every_target([3, 4, 5], longest=3))
    log_probs = [
        [log_prob_of(model, src[src != PAD][None], *t) for t in targets]
        for src in sources
    ]
    for alpha, cached in itertools.product((0.0, 0.6, 2.0), (True, False)):
        beams = beam_search(
            model,
            sources,
            beam_size=50,
            alpha=alpha,
            max_length=3,
            cached=cached,
        )
        for found, beam in zip(log_probs, beams, strict=True):
            ranked = []
            for (ids, ended), log_prob in zip(targets, found, strict=True):
                penalty = length_penalty(len(ids) + ended, alpha)
                ranked.append((log_prob / penalty, log_prob, ids))
            ranked.sort(reverse=True)
            assert len(beam) == len(ranked) == 40
            assert [h.ids for h in beam] == [ids for _, _, ids in ranked]
            for one, (score, log_prob, _) in zip(beam, ranked, strict=True):
                assert math.isclose(one.score, score, abs_tol=1e-4)
                assert math.isclose(one.log_prob, log_prob, abs_tol=1e-4)


@each_cache
@pytest.mark.parametrize("prefix", [None, ragged_ids([2, 1, 3, 2], seed=3)])
def test_the_steps_of_a_beam_search_lead_to_its_hypotheses(kind, prefix):
    """Whoever follows the steps, keeping the best, finds what it found."""
    model, sources = translator(kind), SOURCES[:4]
    steps = []
    arguments = {"beam_size": 3, "prefix": prefix, "max_length": 12}
    beams = beam_search(model, sources, **arguments, on_step=steps.append)
    alone = beam_search(model, sources, **arguments)
    assert [[h.ids for h in beam] for beam in beams] == [
        [h.ids for h in beam] for beam in alone
    ]
    for row, beam in enumerate(beams):
        shared = [] if prefix is None else prefix[row, :1].tolist()
        followed = [(shared, 0.0)] * 3
        for step in steps:
            kept = step.scores[row][step.beams[row], step.tokens[row]]
            best = step.scores[row].flatten().topk(3).values
            assert kept.tolist() == best.tolist()
            followed = [
                (
                    followed[beam][0] + [token],
                    float(step.log_probs[row, beam, token]),
                )
                for beam, token in zip(
                    step.beams[row].tolist(),
                    step.tokens[row].tolist(),
                    strict=True,
                )
            ]
        found = [
            ([i for i in ids if i not in (PAD, EOS)], log_prob)
            for ids, log_prob in followed
            if log_prob > -math.inf
        ]
        assert found == [(h.ids, h.log_prob) for h in beam]


@pytest.mark.parametrize("search", [greedy_search, sample])
@pytest.mark.parametrize("prefix", [None, ragged_ids([2, 1, 3, 2], seed=3)])
def test_each_token_is_handed_on_as_it_comes(search, prefix):
    came = []
    written = search(
        translator("sinusoidal"),
        SOURCES[:4],
        prefix=prefix,
        max_length=12,
        on_token=lambda tokens: came.append(tokens.tolist()),
    )
    for row, ids in enumerate(written):
        shared = [] if prefix is None else prefix[row, :1].tolist()
        tokens = [step[row] for step in came]
        assert len(tokens) <= 12
        assert shared + [i for i in tokens if i not in (PAD, EOS)] == ids


def test_length_penalty_is_the_formula_of_wu():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(7, 0.0) == 1.0
    assert math.isclose(length_penalty(13, 0.5), math.sqrt(3))


def test_a_finished_hypothesis_leaves_the_beam_by_its_penalised_score():
    """To end at once (.4) is likelier than 4 (.35) and eos or 5 (.5 each),
    but not by the score of two tokens when alpha is 6."""
    probabilities = torch.full((6, 6), 1e-6)
    probabilities[BOS, [EOS, 4, 5]] = torch.tensor([0.4, 0.35, 0.25])
    probabilities[4, [EOS, 5]] = 0.5
    chain = Chain(probabilities.log())
    found = {}
    for alpha in (0.0, 6.0):
        (beam,) = beam_search(
            chain,
            prefix=torch.empty(1, 0, dtype=torch.long),
            beam_size=2,
            alpha=alpha,
            max_length=2,
        )
        found[alpha] = {tuple(h.ids) for h in beam}
    assert () in found[0.0]
    assert found[6.0] == {(4,), (4, 5)}


@pytest.mark.parametrize(
    "wrong", [{"beam_size": 0}, {"alpha": 2000}, {"alpha": math.nan}], ids=str
)
def test_a_beam_that_ranks_nothing_is_refused(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(ConfigError, match=f"{name} is {value}"):
        beam_search(translator("none"), SOURCES, **wrong)


@each_cache
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("beam_size", [1, 2])
def test_sentences_that_have_ended_cost_nothing_more(kind, cached, beam_size):
    """The batch shrinks, and what is written stays the same."""
    model, rows = translator(kind), []
    decode, more = model.decode, {"rotary": 5.0}.get(kind, 1.0)

    def noted(tgt_in, *source, cache=None):
        rows.append(len(tgt_in))
        logits = decode(tgt_in, *source, cache=cache)
        logits[..., EOS] += more  # so that some targets end early
        return logits

    model.decode = noted

    def found(src):
        beams = beam_search(
            model, src, beam_size=beam_size, cached=cached, max_length=8
        )
        return [[h.ids for h in beam] for beam in beams]

    together = found(SOURCES)
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == len(SOURCES) * beam_size > rows[-1]
    for src, beam in zip(SOURCES, together, strict=True):
        assert found(src[src != PAD][None]) == [beam]
