"""An encoder that reads text: BERT's body and the heads upon it."""

import dataclasses

import pytest
import torch
from tiny import SIZES, close

from transformer_course.errors import ConfigError
from transformer_course.models.bert import (
    Bert,
    BertPreTraining,
    TextClassifier,
)
from transformer_course.models.bert_config import (
    BertConfig,
    TextClassifierConfig,
)

CONFIG = BertConfig(**SIZES)
CLASSES = TextClassifierConfig(**SIZES, n_classes=3)
IDS = torch.tensor([[4, 5, 6, 7, 8], [9, 10, 11, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
REAL = IDS != 0


def drawn(kind, config, seed: int = 0):
    """An untrained model in evaluation mode, with visible heads."""
    torch.manual_seed(seed)
    model = kind(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model


def hidden(model, ids=IDS, segments=SEGMENTS):
    with torch.no_grad():
        return model(ids, segments)


# --- the body ----------------------------------------------------------------


def test_padding_changes_nothing():
    model = drawn(Bert, CONFIG)
    alone = hidden(model, IDS[1:, :3], SEGMENTS[1:, :3])
    close(hidden(model)[1:, :3], alone)


def test_each_token_sees_both_sides():
    """Change one word: what is made of every other word changes."""
    model = drawn(Bert, CONFIG)
    changed = IDS[:1].clone()
    changed[0, 2] = 12
    before, after = hidden(model, IDS[:1], None), hidden(model, changed, None)
    assert ((before - after).abs().amax(dim=-1) > 1e-4).all()


def test_segments_matter_and_are_0_where_none_are_given():
    model = drawn(Bert, CONFIG)
    none = hidden(model, IDS, None)
    assert torch.equal(none, hidden(model, IDS, torch.zeros_like(IDS)))
    assert not torch.allclose(none[REAL], hidden(model)[REAL], atol=1e-3)


# --- what is pre-trained by --------------------------------------------------


def test_logits_for_each_word_or_for_the_chosen_alone():
    model = drawn(BertPreTraining, CONFIG)
    every, follows = hidden(model)
    assert every.shape == (2, 5, 17) and follows.shape == (2, 2)
    chosen = torch.zeros_like(REAL)
    chosen[0, 1] = chosen[0, 3] = chosen[1, 2] = True
    some, same = model(IDS, SEGMENTS, chosen)
    close(some, every[chosen])
    close(same, follows)


def test_a_words_score_is_the_product_with_its_own_vector():
    """One matrix embeds words and scores them: it is there once."""
    model = drawn(BertPreTraining, CONFIG)
    before, _ = hidden(model)
    with torch.no_grad():
        model.bert.embeddings.words.weight[16] *= 2  # stands in no text here
    after, _ = hidden(model)
    bias = model.masked_words.bias[16]
    close(after[..., 16] - bias, 2 * (before[..., 16] - bias))
    close(after[..., :16], before[..., :16])
    shapes = [tuple(p.shape) for p in model.parameters()]
    assert shapes.count((17, 16)) == 1


def test_what_torch_exports_answers_alike():
    model = drawn(TextClassifier, CLASSES)
    exported = torch.export.export(model, (IDS.flip(1),)).module()
    torch.testing.assert_close(exported(IDS), model(IDS))


def test_whether_b_follows_is_read_from_the_first_token():
    model = drawn(BertPreTraining, CONFIG)
    _, follows = hidden(model)
    first = hidden(model.bert)[:, 0]
    pooled = torch.tanh(model.pooler.project(first))
    close(follows, model.to_next(pooled))


# --- classes -----------------------------------------------------------------


def test_classes_are_read_from_the_first_token():
    model = drawn(TextClassifier, CLASSES)
    pooled = torch.tanh(model.pooler.project(hidden(model.bert)[:, 0]))
    close(hidden(model), model.to_logits(pooled))
    assert hidden(model).shape == (2, 3)


def test_or_from_the_mean_of_all_tokens():
    model = drawn(TextClassifier, dataclasses.replace(CLASSES, pooling="mean"))
    rows = [model.bert(IDS[:1])[0], model.bert(IDS[1:, :3])[0]]
    means = torch.stack([row.mean(dim=0) for row in rows])
    close(hidden(model, segments=None), model.to_logits(means))


# --- bad input ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "segments", "said"),
    [
        ([[17]], [[0]], "id 17 is outside the vocabulary of 17"),
        ([[4] * 41], [[0] * 41], "41 tokens long.*places for 40"),
    ],
)
def test_what_cannot_be_read_is_refused(ids, segments, said):
    with pytest.raises(ConfigError, match=said):
        drawn(Bert, CONFIG)(torch.tensor(ids), torch.tensor(segments))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ConfigError, match="cannot be split over 3"):
        dataclasses.replace(CONFIG, n_heads=3)
