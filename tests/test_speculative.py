"""Speculative decoding writes what greedy search writes, in fewer calls."""

import pytest
import torch
from tiny import on_each_device

from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.corpora import load_corpus
from transformer_course.data.tokenizer import EOS
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.translate import encode_source
from transformer_course.errors import ConfigError
from transformer_course.fast.speculative import (
    DraftModel,
    prompt_lookup,
    speculative_search,
)
from transformer_course.models.config import ModelConfig
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.rolling_cache import RollingCache
from transformer_course.models.transformer import Transformer

SMALL = {"vocab_size": 40, "d_model": 16, "n_heads": 2, "d_ff": 32}


@pytest.fixture(scope="module")
def grammar():
    loaded = load_shipped("grammar")
    sentences = load_corpus("grammar").test.src[:8]
    return loaded.model, [
        torch.tensor([encode_source(loaded.tokenizer, text)])
        for text in sentences
    ]


def little(seed=0, **settings):
    """A draft that knows nothing: it is seldom right."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": 579, "d_model": 16, "n_heads": 2, "d_ff": 32}
    return Transformer(ModelConfig(**sizes, n_layers=1, **settings)).eval()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("drafts", ["itself", "another"])
def test_the_tokens_are_those_of_greedy_search(grammar, count, drafts):
    model, sources = grammar
    small = model if drafts == "itself" else little()
    for src in sources:
        [wanted] = greedy_search(model, src)
        draft = DraftModel(small, src)
        found = speculative_search(model, draft, src, count=count)
        assert found.ids == wanted
        assert 0 <= found.accepted <= found.drafted
        if drafts == "itself":  # every guess is right
            assert found.accepted == found.drafted
            assert found.calls == -(-(len(wanted) + 1) // (count + 1))


def test_an_end_inside_the_guess_ends_the_text(grammar):
    model, (src, *_) = grammar
    [wanted] = greedy_search(model, src)

    def draft(ids, count):
        return [*wanted, EOS, 7, 7, 7, 7][len(ids) - 1 :][:count]

    count = len(wanted) + 4
    found = speculative_search(model, draft, src, count=count)
    assert found.ids == wanted
    assert (found.calls, found.accepted) == (1, len(wanted) + 1)


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_max_length_is_kept(grammar, limit):
    model, (src, *_) = grammar
    [wanted] = greedy_search(model, src, max_length=limit)
    draft = DraftModel(model, src)
    found = speculative_search(model, draft, src, count=4, max_length=limit)
    assert found.ids == wanted


@on_each_device
def test_a_draft_is_where_its_model_is(device):
    """And the sources may be elsewhere."""
    model, src = little().to(device), torch.tensor([[9, 8, 7, EOS]])
    draft = DraftModel(little(seed=1).to(device), src)
    found = speculative_search(model, draft, src, max_length=9)
    assert [found.ids] == greedy_search(model, src, max_length=9)
    assert found.drafted > 0


@on_each_device
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("kind", [{}, {"latent": 8}])
def test_a_decoder_alone_looks_up_its_prompt(device, kind, count):
    torch.manual_seed(1)
    config = ModernConfig(**SMALL, n_layers=2, **kind)
    model = ModernLanguageModel(config).eval().to(device)
    prompt = torch.randint(3, 40, (1, 12)).repeat(1, 2)
    settings = {"prefix": prompt, "max_length": 60}
    [wanted] = greedy_search(model, **settings)
    found = speculative_search(model, prompt_lookup, count=count, **settings)
    assert found.ids == wanted
    assert found.drafted > 0


def test_a_lookup_finds_the_longest_and_latest_match():
    assert prompt_lookup([1, 2, 3, 4, 9, 3, 5, 2, 3], 2) == [4, 9]
    assert prompt_lookup([7, 8, 1, 7, 8, 2, 7, 8], 1) == [2]
    assert prompt_lookup([1, 2, 3], 4) == []


def test_what_cannot_go_back_is_refused():
    config = ModernConfig(**SMALL, n_layers=1, linear=True)
    model = ModernLanguageModel(config)
    prompt = torch.tensor([[5, 6, 7, 5, 6, 7, 5, 6]])
    with pytest.raises(ConfigError, match="state"):
        speculative_search(
            model, prompt_lookup, prefix=prompt, max_length=30, count=3
        )


def test_a_window_that_has_forgotten_is_refused():
    cache = RollingCache(window=4)
    for _ in range(5):
        cache.extend(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    with pytest.raises(ConfigError, match="window of 4"):
        cache.cut(3)
