"""What is trained is what chapter 10 shows."""

import pytest
from tiny import close, random_ids, tiny_config, with_bos

from experiments.mistakes import NAMES
from transformer_course.transformer import Transformer


def sizes(config):
    return (
        config.vocab_size,
        config.d_model,
        config.n_heads,
        config.d_ff,
        config.n_layers,
    )


def test_the_chapters_build_is_the_packages_model():
    config = tiny_config()
    mine = NAMES["MyTransformer"](*sizes(config))
    weights = mine.state_dict()
    table = weights.pop("embed.weight")
    ours = Transformer(config).eval()
    jobs = ("src_embedding", "tgt_embedding", "to_logits")
    tables = {f"{job}.weight": table for job in jobs}
    ours.load_state_dict({**weights, **tables})
    src, tgt = random_ids(2, 5, seed=1), with_bos(random_ids(2, 4, seed=2))
    close(mine(src, tgt), ours(src, tgt))


@pytest.mark.parametrize("name", NAMES["MISTAKES"])
def test_each_mistake_is_an_edit_of_what_stands_there(name):
    old, new = NAMES["MISTAKES"][name]
    assert old in NAMES["text"] and old != new
    NAMES["broken"](name)(*sizes(tiny_config()))
