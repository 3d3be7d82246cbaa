"""Published weights of BERT: names, files, and what comes out."""

import json
from pathlib import Path

import pytest
import torch
from tiny import SIZES, close
from tiny_bert import (
    PIECES,
    SETTINGS,
    installed,
    published,
    published_names,
    write,
)

from transformer_course.checkpoints import pretrained
from transformer_course.checkpoints.find import load_found
from transformer_course.checkpoints.pretrained import (
    load_bert,
    minilm_folder,
    our_name,
    read_start,
    sentence_vectors,
)
from transformer_course.decoding.fill import fill
from transformer_course.errors import (
    CheckpointError,
    CourseError,
    TokenizerError,
)
from transformer_course.models.bert import BertPreTraining, TextClassifier
from transformer_course.models.bert_config import (
    BertConfig,
    TextClassifierConfig,
)
from transformer_course.training.run.prepare import init_from

SENTENCES = ["Cats drink milk.", "dogs", "", "cats dogs cats dogs a b c d"]


@pytest.fixture
def original() -> BertPreTraining:
    torch.manual_seed(0)
    model = BertPreTraining(BertConfig(**SIZES)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model


@pytest.fixture
def tensors(original) -> dict[str, torch.Tensor]:
    return published(original)


@pytest.fixture
def folder(tmp_path, tensors) -> Path:
    return write(tmp_path / "bert", tensors)


IDS = torch.tensor([[2, 5, 7, 8, 3], [2, 6, 3, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])


# --- what is read ------------------------------------------------------------


def without_prefix(tensors):
    return {name.removeprefix("bert."): t for name, t in tensors.items()}


def body_alone(tensors):
    body = ("bert.embeddings", "bert.encoder")
    return {n: t for n, t in tensors.items() if n.startswith(body)}


def of_the_first_checkpoints(tensors):
    def old(name):
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        return name.replace("LayerNorm.bias", "LayerNorm.beta")

    return {old(name): tensor for name, tensor in tensors.items()}


def with_what_is_no_weight(tensors):
    words = tensors["bert.embeddings.word_embeddings.weight"]
    return tensors | {
        "bert.embeddings.position_ids": torch.arange(40)[None],
        "cls.predictions.decoder.weight": words.clone(),
        "cls.predictions.decoder.bias": torch.zeros(17),
        "classifier.weight": torch.zeros(2, 16),
    }


@pytest.mark.parametrize(
    "change",
    [
        dict,
        without_prefix,
        body_alone,
        of_the_first_checkpoints,
        with_what_is_no_weight,
    ],
)
def test_the_model_comes_back_however_the_weights_are_called(
    folder, tensors, original, change
):
    write(folder, change(tensors))
    model, pieces = load_bert(folder)
    assert not model.training
    assert torch.equal(model(IDS, SEGMENTS), original.bert(IDS, SEGMENTS))
    assert pieces.encode("Cats milks") == [5, 8, 9]
    if change is not body_alone:
        words, follows = load_found(folder).model(IDS, SEGMENTS)
        expected = original(IDS, SEGMENTS)
        assert torch.equal(words, expected[0])
        assert torch.equal(follows, expected[1])


def test_half_precision_becomes_single(folder, tensors):
    write(folder, {n: t.half() for n, t in tensors.items()})
    model, _ = load_bert(folder)
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_a_vocabulary_with_capitals(folder):
    settings = {"do_lower_case": False, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    _, pieces = load_bert(folder)
    assert pieces.pieces("cats Cats") == ["cats", "[UNK]"]


def test_every_parameter_has_one_name_in_the_library(original):
    found = [our_name(theirs) for theirs in published_names().values()]
    assert sorted(found) == sorted(n for n, _ in original.named_parameters())


# --- sentences ---------------------------------------------------------------


def test_a_sentence_is_the_mean_of_its_tokens_at_length_1(folder):
    model, pieces = load_bert(folder)
    found = sentence_vectors(model, pieces, SENTENCES)
    assert found.shape == (4, 16)
    for row, text in zip(found, SENTENCES, strict=True):
        ids = torch.tensor([[2, *pieces.encode(text), 3]])  # no padding
        mean = model(ids)[0].mean(dim=0).detach()
        close(row, mean / mean.norm())


def test_a_sentence_of_more_tokens_than_places_is_cut_off(folder):
    model, pieces = load_bert(folder)
    texts = ["a " * 38, "a " * 38 + "milk"]
    close(*sentence_vectors(model, pieces, texts))


def test_a_model_of_sentences_reads_what_its_folder_says(folder):
    longer, _ = load_bert(folder)
    says = folder / "sentence_bert_config.json"
    says.write_text('{"max_seq_length": 12, "do_lower_case": false}')
    model, pieces = load_bert(folder)
    assert model.config.max_length == 12
    texts = ["a " * 10, "a " * 10 + "milk"]
    close(*sentence_vectors(model, pieces, texts))
    found = sentence_vectors(model, pieces, SENTENCES)
    close(found, sentence_vectors(longer, pieces, SENTENCES))


# --- what is refused ---------------------------------------------------------


def assert_refused(folder, said, kind=CheckpointError, load=load_bert):
    with pytest.raises(kind, match=said) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    assert_refused(folder, name)


def test_a_missing_vocabulary(folder):
    (folder / "vocab.txt").unlink()
    assert_refused(folder, "vocab.txt cannot be read", TokenizerError)


def test_a_pickle_is_not_opened(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert_refused(folder, "pytorch_model.bin is a pickle")


def test_a_pickle_under_another_name(folder):
    torch.save({"a": torch.zeros(1)}, folder / "model.safetensors")
    assert_refused(folder, "a pickle, which is never opened")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta'.*is 'bert'"),
        ({"is_decoder": True}, "is_decoder True"),
        ({"hidden_size": "16"}, "d_model is '16': expected a whole"),
        ({"num_attention_heads": 3}, "cannot be split over 3"),
        ({"num_hidden_layers": 1}, "do not fit .* encoder.layers.1"),
        ({"num_hidden_layers": 3}, "do not fit .* encoder.layers.2"),
        ({"num_hidden_layers": 10**9}, "n_layers is 1000000000"),
        ({"hidden_size": 32}, "do not fit .* embeddings"),
        ({"hidden_size": 2**62}, "config.json"),
        ({"layer_norm_eps": "small"}, "config.json"),
    ],
)
def test_settings_that_are_not_these_weights(folder, tensors, changes, said):
    write(folder, tensors, SETTINGS | changes)
    assert_refused(folder, said)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (PIECES[:-1], "has 16 pieces.*vectors for 17"),
        ([*PIECES, "g"], "has 18 pieces.*vectors for 17"),
        (PIECES[1:] + ["g"], "no \\[PAD\\]"),
    ],
)
def test_a_vocabulary_that_does_not_fit(folder, tensors, pieces, said):
    write(folder, tensors, SETTINGS, pieces)
    assert_refused(folder, said, TokenizerError)


@pytest.mark.parametrize(
    "settings",
    [
        {"tokenizer_class": "BertJapaneseTokenizer"},
        {"tokenize_chinese_chars": False},
        {"strip_accents": False},
        {"do_lower_case": "no"},
    ],
)
def test_text_that_is_cut_in_another_way(folder, settings):
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(settings))
    assert_refused(folder, f"says {next(iter(settings))}", TokenizerError)


def test_an_unknown_weight(folder, tensors):
    write(folder, tensors | {"bert.encoder.extra": torch.zeros(1)})
    assert_refused(folder, "'bert.encoder.extra', which no BERT has")


def test_a_missing_weight(folder, tensors):
    del tensors["bert.embeddings.LayerNorm.bias"]
    write(folder, tensors)
    assert_refused(folder, "do not fit .* embeddings.norm.bias")


def test_a_missing_head(folder, tensors):
    write(folder, body_alone(tensors))
    assert_refused(
        folder, "a BERT without the heads of its pre-training", load=load_found
    )


def test_a_masked_model_that_was_asked_nothing_else(folder, tensors, original):
    """Without a pooler, and without what says whether B follows."""
    words = {n: t for n, t in tensors.items() if "cls.predictions" in n}
    write(folder, body_alone(tensors) | words)
    found = load_found(folder)
    assert torch.equal(found.model(IDS)[0], original(IDS)[0])
    assert not found.model.config.next_sentence
    guesses = fill(found.model, found.tokenizer, "cats [MASK] milk", 3)
    assert [len(place) for place in guesses] == [3]


def test_a_weight_that_is_not_finite(folder, tensors):
    tensors["bert.embeddings.LayerNorm.bias"][0] = torch.nan
    write(folder, tensors)
    assert_refused(folder, "embeddings.norm.bias is not finite")


# --- the package of a real model ---------------------------------------------


def test_the_folder_of_an_installed_package(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/vocab.txt", "a/b/vocab.txt", "a/b/model.safetensors"):
        (tmp_path / name).touch()
    installed(monkeypatch, pretrained.MINILM, tmp_path)
    assert minilm_folder() == tmp_path / "a" / "b"


# --- the reference -----------------------------------------------------------


@pytest.fixture
def transformers():
    return pytest.importorskip(
        "transformers", reason="transformers is absent: make test-peers"
    )


@pytest.mark.parametrize(
    ("width", "heads", "layers"), [(16, 2, 2), (48, 12, 3), (64, 1, 1)]
)
def test_our_answers_are_the_librarys(
    transformers, tmp_path, width, heads, layers
):
    torch.manual_seed(0)
    reference = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=len(PIECES),
            hidden_size=width,
            num_attention_heads=heads,
            num_hidden_layers=layers,
            intermediate_size=3 * width,
            max_position_embeddings=20,
            initializer_range=0.3,  # so that every part shows
        )
    ).eval()
    reference.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    model, real = load_found(tmp_path).model, IDS != 0
    expected = reference(
        IDS, attention_mask=real.long(), token_type_ids=SEGMENTS
    )
    words, follows = model(IDS, SEGMENTS)
    close(words[real], expected.prediction_logits[real].detach(), 1e-4)
    # there the first says that B follows, here the second does
    close(follows, expected.seq_relationship_logits.detach().flip(1))


@pytest.fixture
def minilm() -> Path:
    try:
        return minilm_folder()
    except CourseError as error:
        pytest.skip(str(error))


def test_a_real_models_sentences_are_the_librarys(transformers, minilm):
    model, pieces = load_bert(minilm)
    reference = transformers.BertModel.from_pretrained(minilm).eval()
    cutter = transformers.BertTokenizer.from_pretrained(minilm)
    texts = ["Cats drink milk.", "A cat is having some milk.", "Crème brûlée!"]
    texts += ["", "ねこ 猫 🐈", "unaffable " * 100, "x" * 101]
    how = {"padding": True, "truncation": True, "max_length": 256}
    given = cutter(texts, **how, return_tensors="pt")
    expected = reference(**given)
    x = expected.last_hidden_state.detach()
    mask = given["attention_mask"][..., None]
    means = (x * mask).sum(dim=1) / mask.sum(dim=1)
    found = sentence_vectors(model, pieces, texts)
    close(found, torch.nn.functional.normalize(means, dim=-1))
    assert found[0] @ found[1] > found[0] @ found[2]
    config, _, weights = read_start(minilm)
    settings = vars(config) | {"pooling": "cls"}
    classifier = TextClassifier(TextClassifierConfig(**settings)).eval()
    init_from(classifier, weights)
    pooled = classifier.pooler(classifier.bert(given["input_ids"]))
    close(pooled, expected.pooler_output)
