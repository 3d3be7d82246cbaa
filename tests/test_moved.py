"""Old addresses: what chapters imported once can be imported still."""

import importlib
import subprocess
import sys

import pytest

from transformer_course import moved

# What the chapters imported before the package was divided anew. A chapter
# that a reader copied then still says so: take nothing out of this list.
IMPORTS = {
    "": "attention checkpoint generate grid runs transformer",
    "attention": """
        AdditiveScore GeneralScore KVCache MultiHeadAttention dot_score
        masked_softmax scaled_dot_product_attention
    """,
    "config": "ModelConfig PRESETS RecurrentConfig",
    "data": "aozora batches soseki",
    "data.aozora": "Chapter Work sentence_pairs",
    "data.batches": """
        Batch BucketedBatches ResampledBatches encode_pairs encode_texts
        pad_rows padded_batch sampled_pairs sorted_batches
    """,
    "data.corpus": "ParallelText load_corpus unseen",
    "data.grammar": "grammar_corpus grammar_pairs grammar_splits",
    "data.lexicon": "GIVING NOUN VERBS",
    "data.manifest": "fetch",
    "data.morae": "count_morae form",
    "data.plain": "from_plain",
    "device": "pick_device",
    "errors": "ConfigError",
    "experiment": "keep_freed_memory prepare trained",
    "explain": "record",
    "generate": """
        EXTRA_LENGTH beam_search greedy_search keep_top_k keep_top_p sample
    """,
    "layers": "AddNorm FeedForward LayerNorm TokenEmbedding layer_norm",
    "loss": "Score label_smoothed_score",
    "masks": "causal_mask open_empty_rows padding_mask",
    "ngram": "KneserNey",
    "positional_encoding": """
        LearnedPosition RotaryPosition SinusoidalPosition _angles
        position_module sinusoidal_encoding
    """,
    "recurrent": "RecurrentTranslator",
    "score": """
        bleu_counts bleu_interval bleu_of_counts bleu_without_penalty
        bootstrap_bleu corpus_bleu corpus_chrf paired_bootstrap perplexity
    """,
    "tokenizer": "BOS EOS PAD Tokenizer UNK",
    "train": """
        evaluate fit learning_rate make_optimizer paper_peak_rate predict
        restore resume_state score_batch train_step
    """,
    "transformer": "Decoder DecoderLayer Encoder EncoderLayer Transformer",
    "translate": "candidates encode_source translate",
    "viz": """
        BLACK BLUE CYCLE GREEN GREY KEY ORANGE PURPLE QUERY SKY VALUE
        VERMILION YELLOW draw_curves draw_flow draw_graph heatmap
        running_mean show_source use_style
    """,
}
ATTRIBUTES = {
    "data.aozora": """
        decode plain soseki split_file split_lines split_sentences
        strip_markup
    """,
    "data.batches": "_Group _deal _merge_groups _with_ends",
    "data.soseki": "next_sentences",
    "generate": "_Search _extend _limits",
    "transformer": """
        _embedding _final_norm _initialise _layer_arguments _position
    """,
}
"""What they took from modules that they had imported."""


def dotted(module):
    return f"transformer_course.{module}".removesuffix(".")


STATEMENTS = [
    f"from {dotted(module)} import {', '.join(names.split())}"
    for module, names in IMPORTS.items()
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_chapters_imported(statement):
    exec(statement, {})


def test_old_imports_come_first_in_a_new_process():
    program = "\n".join(STATEMENTS)
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", ATTRIBUTES)
def test_what_chapters_took_from_modules(module):
    found = importlib.import_module(dotted(module))
    for name in ATTRIBUTES[module].split():
        assert callable(getattr(found, name))


@pytest.mark.parametrize("old", moved.MOVED)
def test_every_name_is_that_of_the_new_module(old):
    there = importlib.import_module(old)
    for address in moved.MOVED[old]:
        new = importlib.import_module(address)
        assert new.__spec__.name == address
        for name, value in vars(new).items():
            if getattr(value, "__module__", "") == address:
                assert getattr(there, name) is value


def test_a_function_may_be_called_as_a_module_is_now():
    from transformer_course.data import aozora, soseki

    assert callable(aozora.soseki)
    assert soseki.DEV


def test_a_name_that_is_nowhere():
    from transformer_course.data import batches

    said = "no 'nothing'; .* in transformer_course.batches and .*buckets now"
    with pytest.raises(AttributeError, match=said):
        _ = batches.nothing
    with pytest.raises(ImportError):
        from transformer_course.data.manifest import nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("transformer_course.data.nothing")


def test_the_package_itself_is_light():
    program = (
        "import sys; import transformer_course; "
        "heavy = {'torch', 'numpy', 'transformer_course.data'}; "
        "print(heavy & set(sys.modules))"
    )
    printed = subprocess.check_output([sys.executable, "-c", program])
    assert printed.decode().strip() == "set()"
