"""What a lecturer needs, made from the chapters and from one plan.

``book/en/units.yml`` says what each unit shows, asks and runs, and in
how many minutes. Slides, handouts, board plans and the page for lecturers are
made from it and from the chapters, so that they cannot drift apart.
"""

import sys
from pathlib import Path

# what the pages of the book share with the decks: drawings, colours, formulas
sys.path.insert(0, str(Path(__file__).parents[2] / "book/_ext"))
