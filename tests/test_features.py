"""Directions of the stream: few are kept, dead ones learn, hooks go."""

import pytest
import torch
from tiny import close, random_ids

from transformer_course.interpretation.features import (
    K,
    TopKAutoencoder,
    autoencoder_loss,
    change_stream,
    difference_of_means,
    fit_probe,
    keep_largest,
    load_features,
    streams,
)
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig


@pytest.fixture
def model():
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 3}
    torch.manual_seed(0)
    model = ModernLanguageModel(ModernConfig(vocab_size=20, **sizes))
    return model.eval().requires_grad_(False)


def vectors(rows, width, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, width, generator=generator)


def test_the_k_largest_keep_their_places():
    scores = vectors(5, 9).relu()
    kept = keep_largest(scores, 3)
    assert ((kept > 0).sum(dim=1) <= 3).all()
    assert ((kept == scores) | (kept == 0)).all()
    lost = scores.masked_fill(kept > 0, 0)
    assert (kept.sort(dim=1)[0][:, -3] >= lost.amax(dim=1)).all()
    close(keep_largest(scores, 20), scores)


def test_a_code_of_one_is_a_direction_above_the_centre():
    torch.manual_seed(0)
    autoencoder = TopKAutoencoder(6, 10, 2).requires_grad_(False)
    autoencoder.centre += 3
    close(autoencoder.directions.norm(dim=1), torch.ones(10))
    decoded = autoencoder.decode(torch.eye(10))
    close(decoded - 3, autoencoder.directions)
    x = vectors(7, 6)
    assert ((autoencoder.encode(x) > 0).sum(dim=1) <= 2).all()
    close(autoencoder(x), autoencoder.decode(autoencoder.encode(x)))


def test_only_the_second_term_reaches_a_dead_feature():
    torch.manual_seed(0)
    autoencoder = TopKAutoencoder(6, 10, 1)
    x = autoencoder.directions[:1].detach() * vectors(20, 1).abs().add(1)
    used = (autoencoder.encode(x) > 0).any(dim=0)
    dead = torch.zeros(10, dtype=torch.bool)
    for expected in (False, True):
        loss, codes = autoencoder_loss(autoencoder, x + vectors(20, 6), dead)
        autoencoder.zero_grad()
        loss.backward()
        used = (codes > 0).any(dim=0)
        slopes = autoencoder.directions.grad.abs().sum(dim=1)
        assert (slopes[used] > 0).all()
        assert (~used).any()
        assert bool((slopes[~used] > 0).any()) is expected
        dead = ~used


def test_a_probe_reads_what_is_linear_wherever_it_lies():
    x = vectors(60, 8)
    labels = (x[:, 0] > 0).long() + (x[:, 0] > 0.7).long()
    read = fit_probe(x[:40], labels[:40])
    assert (read(x[:40]) == labels[:40]).float().mean() > 0.8
    moved = fit_probe(x[:40] + 5, labels[:40])
    assert (moved(x[40:] + 5) == read(x[40:])).all()
    same = torch.ones(6, 8)  # nothing to read: no error
    assert fit_probe(same, labels[:6])(same).unique().numel() == 1


def test_the_direction_leads_from_the_others():
    some, others = vectors(4, 3), vectors(5, 3, seed=1)
    close(
        others.mean(dim=0) + difference_of_means(some, others),
        some.mean(dim=0),
    )


def test_streams_lead_from_the_embedding_to_the_logits(model):
    ids = random_ids(2, 5, seed=1)
    found = list(streams(model, ids))
    assert len(found) == 4
    close(found[0], model.embedding(ids))
    close(model.to_logits(model.norm(found[-1])), model(ids))


def test_a_stream_is_changed_only_inside(model):
    ids = random_ids(2, 5, seed=1)
    own, found = model(ids), list(streams(model, ids))
    with change_stream(model, 3, lambda x: found[2]):
        close(model(ids), model.to_logits(model.norm(found[2])))
    with (
        pytest.raises(ZeroDivisionError),
        change_stream(model, 2, lambda x: x / (1 // 0)),
    ):
        model(ids)
    close(model(ids), own)


def test_the_shipped_one_fits_smollm2():
    autoencoder = load_features()
    assert autoencoder.directions.shape == (4096, 576)
    assert autoencoder.k == K
    close(autoencoder.directions.norm(dim=1), torch.ones(4096), tolerance=0.01)
