"""The variants of models that are trained are what they say."""

import dataclasses
import itertools

import pytest
import torch
from tiny import (
    VOCAB,
    close,
    ragged_ids,
    random_ids,
    tiny_config,
    tiny_corpus,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch.testing import assert_close

from experiments import (
    failures,
    feed_forward,
    norms,
    positions,
    recall,
    school,
    since_2017,
    table_3,
    wrong_masks,
)
from experiments.broken_builds import MISTAKES, TEXT, MyTransformer, broken
from experiments.decoder_changes import balance_of
from experiments.embeddings import faster_tables, standard_normal, tables_of
from experiments.lab import RunContext
from experiments.since_2017 import CHANGES, WHOLE
from experiments.stacks import Shared, join, joined_loss
from experiments.table_3 import D_KEY, NarrowKeyed, NarrowKeys
from experiments.translators import (
    Training,
    causal_of,
    follow,
    padding_of,
    with_masks,
)
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.errors import CheckpointError
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.config import ModelConfig
from transformer_course.models.masks import causal_mask, padding_mask
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import (
    LoopConfig,
    SequenceLossConfig,
)
from transformer_course.training.loop import make_optimizer
from transformer_course.training.loss import batch_loss, compute_loss

# --- parts, starts and masks -------------------------------------------------

SMALL = ModelConfig(50, d_model=16, n_heads=2, d_ff=32, n_layers=3)


IDS = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])


def built(build=Transformer):
    torch.manual_seed(0)
    return build(SMALL).eval()


def count(model) -> int:
    """Number of weights."""
    return sum(p.numel() for p in model.parameters())


def test_the_parts_left_out_are_the_formulas():
    x, sublayer = torch.randn(2, 5, 16), torch.nn.Linear(16, 16)
    add, norm = norms.AddOnly(16), norms.NormOnly(16)
    assert_close(add(x, sublayer), x + sublayer(x))
    assert_close(norm(x, sublayer), norm.norm(sublayer(x)))


@pytest.mark.parametrize(
    ("build", "wanted"),
    [(norms.ADD_ONLY, norms.AddOnly), (norms.NORM_ONLY, norms.NormOnly)],
)
def test_a_part_is_left_out_in_encoder_and_decoder(build, wanted):
    model, usual = built(build), built()
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert type(layer.add_norm_1) is type(layer.add_norm_2) is wanted
    assert_close(dict(model.state_dict()), dict(usual.state_dict()))


def test_a_small_start_changes_the_last_matrix_of_each_sub_layer_only():
    usual = dict(built().named_parameters())
    for name, weight in built(norms.SmallStart).named_parameters():
        last = name.endswith(("to_output.weight", "down_proj.weight"))
        factor = 6**-0.5 if last else 1  # three layers, two sub-layers each
        assert_close(weight, factor * usual[name])


def test_attention_alone_has_no_other_weights():
    names = [
        n for n, _ in built(feed_forward.AttentionOnly).named_parameters()
    ]
    assert not [n for n in names if "feed_forward" in n]
    assert not [n for n in names if n.endswith("decoder.layers.0.add_norm_3")]


def test_without_a_source_the_source_makes_no_difference():
    model, tgt = built(), torch.tensor([[1, 7, 8, 2]])
    one, other = (
        norms.loss_without_source(
            model, Batch(torch.tensor(src), tgt), SequenceLossConfig()
        )
        for src in ([[5, 6, 2]], [[9, 2]])
    )
    assert_close(one.loss, other.loss)


def test_a_mask_is_its_two_parts():
    mask = causal_mask(4) & padding_mask(IDS)
    assert_close(causal_of(mask), causal_mask(4))
    assert_close(padding_of(mask), padding_mask(IDS))
    assert_close(causal_of(mask[:, :, 2:]), causal_mask(4)[:, :, 2:])


def test_other_masks_reach_every_attention():
    seen = []
    built(with_masks(lambda m, whose: seen.append(whose) or m))(IDS, IDS)
    assert seen == ["encoder"] * 3 + ["own", "cross"] * 3


@pytest.mark.parametrize(
    ("build", "padding", "future"),
    [
        (Transformer, False, False),
        (with_masks(lambda mask, whose: mask), False, False),
        (with_masks(failures.padding_inverted), True, False),
        (with_masks(failures.causal_inverted), False, True),
        (with_masks(wrong_masks.padding_open), True, False),
        (with_masks(wrong_masks.future_open), False, True),
    ],
)
def test_a_wrong_mask_lets_in_what_the_right_one_hides(build, padding, future):
    model, other = built(build), IDS.clone()
    wider = torch.nn.functional.pad(IDS, (0, 3))
    other[0, 3] = 9
    found = model(IDS, IDS)
    same = torch.allclose(found, model(IDS, wider)[:, :4], atol=1e-5)
    same &= torch.allclose(found, model(wider, IDS), atol=1e-5)
    assert same != padding
    seen = model(IDS, other)[0, 0]
    assert torch.allclose(found[0, 0], seen, atol=1e-5) != future


def test_a_training_that_diverges_says_so(tmp_path, monkeypatch):
    tiny_corpus(monkeypatch)

    def nothing(model, batch, config):
        found = compute_loss(model, batch, config)
        return found._replace(loss=found.loss * torch.nan)

    training = Training("", loss_fn=nothing)
    curve = follow(training, 0, RunContext(tmp_path, smoke=True))
    assert curve.stopped.startswith("the loss is nan") and not curve.steps


def test_masks_that_are_multiplied_hide_the_wrong_amount():
    kind = wrong_masks.HiddenAfterSoftmax
    usual, wrong = built(), built(wrong_masks.AFTER_SOFTMAX)
    assert_close(dict(usual.state_dict()), dict(wrong.state_dict()))
    assert not torch.allclose(usual(IDS, IDS), wrong(IDS, IDS))
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 4, 8)
    everything = torch.ones(4, 4, dtype=torch.bool)
    found, expected = (
        layer.attend(query, key, value, everything)
        for layer in (kind(8, 1), MultiHeadAttention(8, 1))
    )
    assert_close(found, expected)  # nothing is hidden, nothing is wrong


# --- stacks ------------------------------------------------------------------

BATCH = Batch(
    torch.tensor([[7, 8, EOS], [9, EOS, PAD]]),
    torch.tensor([[BOS, 5, EOS, PAD], [BOS, 5, 6, EOS]]),
)


def test_a_shared_stack_applies_its_one_layer_again_and_again():
    model = Shared(tiny_config(n_layers=3))
    assert count(model) == count(Transformer(tiny_config(n_layers=1)))
    assert len(model.encoder.layers) == len(model.decoder.layers) == 3
    x = expected = torch.randn(2, 5, 16)
    for _ in range(3):
        expected = model.encoder.layers[0](expected)
    close(model.encoder(x), expected)


def test_source_and_target_are_joined_and_only_the_target_is_asked():
    read, asked = join(BATCH)
    assert read.tolist() == [[7, 8, EOS, BOS, 5], [9, EOS, BOS, 5, 6]]
    assert asked.tolist() == [[0, 0, 0, 5, EOS], [0, 0, 5, 6, EOS]]


def test_joined_batches_are_read_by_a_decoder_alone():
    model = tiny_language_model()
    other = Batch(random_ids(2, 3, seed=1), BATCH.tgt)
    one, two = (
        joined_loss(model, batch, SequenceLossConfig())
        for batch in (BATCH, other)
    )
    assert one.loss != two.loss  # the source matters


# --- positions ---------------------------------------------------------------

SRC, TGT = random_ids(1, 6, seed=1), random_ids(1, 6, seed=2)


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_without_positions_the_order_of_a_side_is_unknown(side):
    model = positions.without(side)(tiny_config(n_layers=1)).eval()
    src, tgt = (SRC.flip(1), TGT), (SRC, TGT[:, [1, 0, 2, 3, 4, 5]])
    found = model(*{"src": src, "tgt": tgt}[side])
    assert_close(found[:, 2:], model(SRC, TGT)[:, 2:])


# --- embeddings --------------------------------------------------------------


def small_double(tied=False):
    return tiny_transformer(n_layers=1, tied=tied).double()


def one_step(model, make):
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7, 8]])
    optimizer = make(model, LoopConfig())
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    model(src, tgt).logsumexp(dim=-1).sum().backward()
    optimizer.step()
    return model(src, tgt)


def test_large_rows_and_a_large_step_are_the_papers_training():
    """Rows and rate × √d, without the factor: the same function after Adam."""
    large = small_double()
    standard_normal(large)
    expected = one_step(small_double(), make_optimizer)
    torch.testing.assert_close(one_step(large, faster_tables), expected)


@pytest.mark.parametrize("tied", [True, False])
def test_each_weight_is_in_one_group(tied):
    model = small_double(tied)
    optimizer = faster_tables(model, LoopConfig())
    *others, tables = (group["params"] for group in optimizer.param_groups)
    assert len(tables) == len(tables_of(model)) == (1 if tied else 2)
    ids = [id(weight) for weight in [*itertools.chain(*others), *tables]]
    assert sorted(ids) == sorted(map(id, model.parameters()))


# --- the mistakes of chapter 10 ----------------------------------------------


GIVEN = (VOCAB, 16, 2, 32, 2)
"""The sizes of ``tiny_config``."""


def test_the_chapters_build_is_the_packages_model():
    mine = MyTransformer(*GIVEN)
    weights = mine.state_dict()
    table = weights.pop("embed.weight")
    ours = tiny_transformer()
    jobs = ("src_embedding", "tgt_embedding", "to_logits")
    tables = {f"{job}.weight": table for job in jobs}
    ours.load_state_dict({**weights, **tables})
    src, tgt = random_ids(2, 5, seed=1), with_bos(random_ids(2, 4, seed=2))
    close(mine(src, tgt), ours(src, tgt))


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_an_edit_of_what_stands_there(name):
    old, new = MISTAKES[name]
    assert old in TEXT and old != new
    broken(name)(*GIVEN)


# --- table 3 -----------------------------------------------------------------


def test_a_variant_changes_one_setting_or_the_keys_alone():
    for name, variant in table_3.VARIANTS.items():
        if name == "base":
            assert variant.experiment(0).model == table_3.BASE.model
            continue
        changed = variant.build is checkpoint.build
        assert len(variant.changes) == changed, name
        assert variant.experiment(0) != table_3.VARIANTS["base"].experiment(0)


def test_keys_and_queries_are_narrow_and_values_are_not():
    model = NarrowKeyed(tiny_config())
    layers = [m for m in model.modules() if isinstance(m, NarrowKeys)]
    assert len(layers) == 6  # 2 + 2 × 2
    for layer in layers:
        widths = layer.to_key.out_features, layer.to_query.out_features
        assert widths == (2 * D_KEY, 2 * D_KEY)
        assert layer.to_value.out_features == 16


def test_scores_of_narrow_keys_are_divided_by_the_root_of_their_width():
    torch.manual_seed(0)
    layer = NarrowKeys(16, 2)
    x = torch.randn(1, 5, 16)
    _, weights = layer(x, return_weights=True)
    query = layer.to_query(x).view(1, 5, 2, D_KEY).transpose(1, 2)
    key = layer.to_key(x).view(1, 5, 2, D_KEY).transpose(1, 2)
    scores = query @ key.transpose(-2, -1) / D_KEY**0.5
    close(weights, scores.softmax(-1))
    close(layer(x), layer(x, return_weights=True)[0])


def test_a_checkpoint_with_narrow_keys_is_built_as_it_was(tmp_path):
    model = NarrowKeyed(tiny_config(n_heads=1)).eval()
    checkpoint.save(tmp_path / "narrow", model)
    src = ragged_ids([3, 5])
    loaded = checkpoint.load(tmp_path / "narrow", build=NarrowKeyed).model
    close(loaded(src, with_bos(src)), model(src, with_bos(src)))
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "narrow")


# --- what came after 2017 ----------------------------------------------------


def test_all_but_four_have_as_many_weights_as_the_base():
    larger = ("experts", "untied", "untied-zero-start", "today-untied")
    with torch.device("meta"):
        counts = {
            name: count(since_2017.build(decoder, 3000))
            for name, decoder in {**CHANGES, **WHOLE}.items()
            if name not in larger
        }
    for name, found in counts.items():
        assert abs(found / counts["base"] - 1) < 0.003, name


def test_ways_to_a_smaller_cache_have_as_many_weights():
    with torch.device("meta"):
        counts = {
            name: count(recall.build(way)) for name, way in recall.WAYS.items()
        }
    assert max(counts.values()) / min(counts.values()) < 1.005


def test_each_key_is_asked_for_once_after_its_pair():
    draw = torch.Generator().manual_seed(0)
    ids, answers, distance = recall.draw_texts(2, 12, draw)
    for row, wanted, far in zip(ids, answers, distance, strict=True):
        asked = (wanted >= 0).nonzero().flatten().tolist()
        assert len(asked) == 6
        for place in asked:
            pair = int(row[place - far[place]])
            key, value = divmod(pair, recall.VALUES + 1)
            assert (key, value) == (row[place] // 17, wanted[place])
            assert row[place] % 17 == recall.ASKED


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - {"base"}))
def test_a_change_changes_one_thing(name):
    base, changed = CHANGES["base"], CHANGES[name]
    fields = [
        f.name
        for f in dataclasses.fields(since_2017.Decoder)
        if f.name not in ("about", "rate")
        and getattr(base, f.name) != getattr(changed, f.name)
    ]
    assert len(fields) == 1


def test_balance_is_added_to_what_is_learned_and_not_to_what_is_told():
    model = since_2017.build(CHANGES["experts"], 17).eval()
    batch = Batch(None, random_ids(2, 6))
    sums = since_2017.loss_with_balance(model, batch)
    plain = batch_loss(model, batch)
    added = since_2017.BALANCE * balance_of(model) * plain.tokens
    torch.testing.assert_close(sums.loss, plain.loss + added)
    assert sums.nll == plain.nll


def test_sums_are_shown_as_their_way_says():
    ways = {}
    for way in ("direct", "steps", "mixed"):
        shown = list(itertools.islice(school.sums_without_end(0, way), 40))
        ways[way] = [one.steps != one.answer for one in shown]
        assert all(school.result(one.steps) == one.answer for one in shown)
    assert not any(ways["direct"]) and all(ways["steps"])
    assert 10 < sum(ways["mixed"]) < 30
