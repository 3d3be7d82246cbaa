"""What is shared, and a decoder alone, are what they say."""

import torch
from tiny import close, random_ids, tiny_config, tiny_language_model

from experiments.stacks import Shared, join, score_joined
from transformer_course.batches import Batch
from transformer_course.tokenizer import BOS, EOS, PAD
from transformer_course.transformer import Transformer

BATCH = Batch(
    torch.tensor([[7, 8, EOS], [9, EOS, PAD]]),
    torch.tensor([[BOS, 5, EOS, PAD], [BOS, 5, 6, EOS]]),
)


def test_shared_stacks_have_the_weights_of_one_layer():
    many = Shared(tiny_config(n_layers=4))
    one = Transformer(tiny_config(n_layers=1))
    counted = [sum(p.numel() for p in m.parameters()) for m in (many, one)]
    assert counted[0] == counted[1]
    assert len(many.encoder.layers) == len(many.decoder.layers) == 4


def test_a_shared_stack_applies_its_layer_again_and_again():
    encoder = Shared(tiny_config(n_layers=3)).encoder
    x = torch.randn(2, 5, 16)
    expected = x
    for _ in range(3):
        expected = encoder.layers[0](expected)
    close(encoder(x), expected)


def test_source_and_target_are_joined_and_only_the_target_is_asked():
    read, asked = join(BATCH)
    assert read.tolist() == [[7, 8, EOS, BOS, 5], [9, EOS, BOS, 5, 6]]
    assert asked.tolist() == [[0, 0, 0, 5, EOS], [0, 0, 5, 6, EOS]]


def test_joined_batches_score_as_many_tokens_as_separate_ones():
    model = tiny_language_model()
    score = score_joined(model, BATCH)
    assert score.tokens == (BATCH.tgt_out != PAD).sum()


def test_joined_batches_are_read_by_a_decoder_alone():
    model = tiny_language_model()
    other = Batch(random_ids(2, 3, seed=1), BATCH.tgt)
    one, two = score_joined(model, BATCH), score_joined(model, other)
    assert one.loss != two.loss  # the source matters
