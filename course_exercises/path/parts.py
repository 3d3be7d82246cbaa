"""The parts of the reader's own Transformer, by chapter."""

from course_exercises.contents import EXERCISES

PARTS: dict[str, tuple[str, ...]] = {
    "02": ("Embedding",),
    "03": ("sinusoidal_encoding", "add_positions"),
    "04": ("scaled_dot_product_attention",),
    "05": ("stable_softmax",),
    "06": ("padding_mask", "causal_mask", "masked_softmax"),
    "07": ("split_heads", "merge_heads", "MultiHead"),
    "08": ("LayerNorm", "AddNorm"),
    "09": ("FeedForward",),
    "10": ("MyEncoderLayer", "MyDecoderLayer", "MyStack", "MyTransformer"),
    "11": ("source_batch",),
    "12": ("teacher_forcing", "smoothed_loss", "learning_rate", "train_step"),
    "13": ("greedy_search",),
    "14": ("clipped_matches", "bleu"),
}
"""By a chapter's number: the names of its parts, in the file's order."""


def stub(name: str) -> str:
    """What the file has for a part that is not yet written."""
    exercise = EXERCISES.get(name)
    return exercise.stub if exercise else f"# {name}"
