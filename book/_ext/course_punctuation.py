"""No line begins with the full stop of a formula.

A browser may break a line on either side of a formula, since that is a
picture to it. Signs that touch one are kept on its line.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

BEFORE = re.compile(r"[(\[“‘「『（]+$")
AFTER = re.compile(r"^[A-Za-z'’”.,;:!?%…)\]」』）、。-]+")
"""Signs that belong to the formula behind them, or before."""


class KeepPunctuation(SphinxPostTransform):
    """Put a formula and the signs that touch it into one element."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Go through the formulas that stand in a line."""
        for formula in list(self.document.findall(nodes.math)):
            before = self._cut(formula, -1, BEFORE)
            after = self._cut(formula, 1, AFTER)
            if before or after:
                kept = nodes.inline(classes=["kept-together"])
                formula.replace_self(kept)
                kept += [nodes.Text(before), formula, nodes.Text(after)]

    @staticmethod
    def _cut(formula: nodes.math, step: int, signs: re.Pattern) -> str:
        """Take the signs away from the text beside a formula."""
        siblings = formula.parent.children
        place = siblings.index(formula) + step
        beside = siblings[place] if 0 <= place < len(siblings) else None
        if not isinstance(beside, nodes.Text):
            return ""
        found = signs.search(beside)
        if not found:
            return ""
        text = beside[: found.start()] + beside[found.end() :]
        formula.parent.replace(beside, nodes.Text(text))
        return found.group()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
