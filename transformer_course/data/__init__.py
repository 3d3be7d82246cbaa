"""Corpora and batches: from text on the web to tensors on the device.

``manifest`` downloads and checks, ``corpus`` reads parallel text, ``grammar``
makes the built-in corpus, ``batches`` turns sentence pairs into tensors.
"""
