"""The models, and the parts that the chapters build them from.

:mod:`~.masks`, :mod:`~.positional_encoding`, :mod:`~.attention` and
:mod:`~.layers` are the parts; :mod:`~.transformer` puts them together. Each
model is built from a config, which stands beside it.
"""
