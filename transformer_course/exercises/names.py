"""The exercises by name, so that listing them loads none of them.

A test holds that these are those of the catalogue.
"""

NAMES: dict[str, tuple[str, ...]] = {
    "03_positional_encoding": (
        "add_positions",
        "sinusoidal_encoding",
        "turn_by_position",
    ),
    "04_attention": (
        "attention_weights",
        "scaled_dot_product_attention",
        "CrossAttention",
    ),
    "05_score_functions": (
        "additive_score",
        "stable_softmax",
        "softmax_backward",
    ),
    "06_masks": (
        "padding_mask",
        "causal_mask",
        "masked_softmax",
    ),
    "07_multi_head_attention": (
        "split_heads",
        "merge_heads",
        "MultiHead",
    ),
    "08_add_and_norm": (
        "layer_norm",
        "add_and_norm",
        "pre_norm_stack",
    ),
    "09_feed_forward": (
        "feed_forward",
        "feed_forward_by_convolution",
        "layer_weights",
    ),
    "10_transformer": (
        "MyEncoderLayer",
        "MyDecoderLayer",
        "MyStack",
    ),
    "12_training": (
        "teacher_forcing",
        "learning_rate",
        "smoothed_loss",
    ),
    "13_generation": (
        "greedy_search",
        "beam_scores",
        "cut_tail",
        "step_with_cache",
    ),
    "14_evaluation": (
        "text_perplexity",
        "clipped_matches",
        "bleu",
    ),
}
"""By chapter, in the order of the book.

:meta hide-value:
"""
