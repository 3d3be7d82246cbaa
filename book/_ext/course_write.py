"""The next step: what a chapter adds to the reader's own Transformer.

The directive ``write`` stands at a chapter's end. Its content says in words
what is asked::

    ```{write}
    An attention for several sentences at once, with a mask or without one.
    ```

Below it are the picture of the model, with the chapter's parts lit and those
of earlier chapters shaded, the stub of each part as it stands in the reader's
file, the command that checks the file, and from chapter 04 on the one that
trains it. The decoder of chapter 22 has no place in that picture, and the
command lets it talk.
"""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from course_edition import say
from course_minimap import PICTURE, drawing
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_exercises.path.parts import DECODER, PARTS, stub

CHECK = "transformer-course check my_transformer.py"
TRAIN = (
    "Train it at any time: `transformer-course train grammar --model "
    "my_transformer.py`; the course's parts stand in for what is missing."
)
CHAT = (
    "Let it talk: `transformer-course chat smollm2 --decoder "
    "my_transformer.py` puts SmolLM2's weights (`make weights`) into your "
    "decoder; the course's parts stand in for what is missing."
)
TRAINABLE = "04"
"""The chapter with whose parts a training begins to be worth its minute."""
BEGIN = (
    "Not begun? `make start` or `transformer-course start` writes "
    "`my_transformer.py`, with a stub for each part: "
    "{doc}`your own Transformer <my_transformer>`."
)


class Write(SphinxDirective):
    """``write``: the parts of a chapter, to be written by the reader."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """What is asked, the picture, the stubs and the command."""
        self.assert_has_content()
        chapter = self.env.docname[:2]
        if chapter not in PARTS:
            raise self.error(
                f"write: {self.env.docname!r} has no part of the reader's "
                f"Transformer. Chapters {', '.join(PARTS)} have some: see "
                "course_exercises/path/parts.py."
            )
        box = nodes.container(classes=["write"])
        self.state.nested_parse(self.content, self.content_offset, box)
        if chapter != DECODER:  # the picture is of the translator
            path = Path(self.env.srcdir, PICTURE)
            self.env.note_dependency(str(path))
            picture = map_of(ElementTree.parse(path).getroot(), chapter)
            box += nodes.raw("", picture, format="html")
        box += [code(stub(name), "python") for name in PARTS[chapter]]
        box += code(CHECK, "bash")
        said = [say(BEGIN)]
        if chapter >= TRAINABLE:
            use = CHAT if chapter == DECODER else TRAIN
            said = [say(use), "", *said]
        below = StringList(said, source=self.get_source_info()[0])
        self.state.nested_parse(below, self.content_offset, box)
        self.set_source_info(box)
        return [box]


def code(text: str, language: str) -> nodes.literal_block:
    """A block of code."""
    return nodes.literal_block(text, text, language=language)


def map_of(picture: Element, chapter: str) -> str:
    """HTML: the picture in small, and what its shades mean."""
    earlier = {number for number in PARTS if number < chapter}
    drawn = drawing(picture, chapter, earlier)
    shades = {group.get("class") for group in drawn.iter("g")}
    box = Element("div", {"class": "transformer-minimap"})
    box.append(drawn)
    words = SubElement(box, "p")
    words.text = say("Lit: what you write now.")
    if "earlier" in shades:
        words.text += say(" Shaded: what you have from earlier chapters.")
    if "lit" not in shades:  # the chapter is about the whole
        words.text = say("The whole model, which is yours now.")
    return ElementTree.tostring(box, encoding="unicode")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("write", Write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
