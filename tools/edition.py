"""The edition that a command is for: ``EDITION=ja`` is the Japanese one.

Its sources are there once ``python -m tools.translate tree`` has made them.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book/_ext"))
import course_edition  # noqa: E402

EDITION = os.environ.get("EDITION", "en")
SOURCES = ROOT / {"en": "book/en", "ja": "_build/ja/book/ja"}[EDITION]
BUILT = ROOT / f"_build/{EDITION}/_build/html"
"""The folders of its pages, and of the built ones."""
course_edition.language = EDITION
say = course_edition.say
