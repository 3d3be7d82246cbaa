"""Corpora: from files on the web to sentences.

``manifest`` says what files there are, ``download`` has them here, ``text``
reads parallel text; ``grammar``, ``small_parallel_enja`` and ``aozora`` make
sentences, and ``corpora``, above them all, knows every corpus by its name.
"""
