"""What is folded says what it is: "Show the code of Figure 12".

A page has many folded cells, and MyST-NB calls them all "Show code cell
source". Here a cell is called by its figure, else by its number, which is the
one that it has in JupyterLab. A title of the cell's own stays. On paper all
folds are open (``_static/printing.js``).
"""

from typing import NamedTuple

from docutils import nodes
from myst_nb.sphinx_ import HideInputCells
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class Words(NamedTuple):
    """What a fold says in an edition: when it is shut, and when open."""

    code: tuple[str, str]
    output: tuple[str, str]
    cell: str
    """What a cell without a figure is called."""


WORDS = {
    "en": Words(
        ("Show the code of {}", "Hide the code of {}"),
        ("Show the output of {}", "Hide the output of {}"),
        "cell {}",
    ),
    "ja": Words(
        ("{}のコードを表示", "{}のコードを隠す"),
        ("{}の出力を表示", "{}の出力を隠す"),
        "セル {}",
    ),
}


class NameFoldedCells(SphinxPostTransform):
    """Put names into the titles that MyST-NB is about to write."""

    default_priority = HideInputCells.default_priority - 1
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Name the cells that are folded and have no title of their own."""
        words = WORDS.get(self.config.language, WORDS["en"])
        for cell in self.document.findall(nodes.container):
            if cell.get("prompt_show") != self.config.nb_code_prompt_show:
                continue
            shut, opened = (
                words.output if cell["hide_mode"] == "output" else words.code
            )
            name = self._figure(cell) or words.cell.format(cell["exec_count"])
            cell["prompt_show"] = shut.format(name)
            cell["prompt_hide"] = opened.format(name)
            cell["classes"].append("plain-fold")  # without title on paper

    def _figure(self, cell: nodes.container) -> str | None:
        """What the figure of a cell is called, if it has one."""
        numbers = self.env.toc_fignumbers.get(self.env.docname, {})
        for figure in cell.findall(nodes.figure):
            for name in figure["ids"]:
                if number := numbers.get("figure", {}).get(name):
                    shown = ".".join(map(str, number))
                    return self.config.numfig_format["figure"] % shown
        return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_post_transform(NameFoldedCells)
    app.add_js_file("printing.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
