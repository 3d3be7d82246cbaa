"""The Transformer, built part by part.

Nothing is re-exported here: import a name from the module that owns it, for
example ``from transformer_course.models.attention import MultiHeadAttention``.
"""
