"""The Japanese edition: one book, a second text.

``book/ja/PAGE.md`` has the Japanese text of ``book/en/PAGE``, piece by piece,
and ``book/ja/strings.yml`` that of the extensions, scripts and templates. No
Japanese page is stored: ``tree`` makes the sources of the edition from the
English pages and these texts, so that code, outputs, figures, ids, links and
formulas are those of the English edition.
"""
