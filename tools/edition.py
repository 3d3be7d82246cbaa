"""The edition that a command is for: EDITION=ja is tools.translate's tree."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book/_ext"))
import course_edition  # noqa: E402

EDITION = os.environ.get("EDITION") or "en"
TREE = ROOT / {"en": "", "ja": "_build/ja"}[EDITION]
SOURCES = TREE / "book" / EDITION
BUILT = ROOT / f"_build/{EDITION}/_build/html"
course_edition.language = EDITION
in_edition, say = course_edition.in_edition, course_edition.say
