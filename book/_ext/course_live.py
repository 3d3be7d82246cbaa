"""Figures that answer; some run a translator in the page.

The directive ``live`` puts one of its figures into a page::

    ```{live} translator
    :switches:
    :sentence: 2
    ```

``_static/live`` has the Transformer in JavaScript; the weights are written
from ``transformer_course/shipped/`` when the book is built, as
``transformer-course export --to web`` does. Without scripts, and where
the model cannot be loaded, a reader has a sentence or a table instead.
"""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from xml.etree import ElementTree

import course_edition
import course_minimap
from course_edition import say
from course_parts import parts_data
from course_templates import template
from course_units import units_data
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from experiments import store
from experiments.senses import WORDS
from tools.translate.pieces import read_labels
from tools.translate.tree import translate_drawing
from transformer_course.checkpoints import web_export
from transformer_course.checkpoints.shipped import FOLDER, load_shipped
from transformer_course.data.grammar import grammar_splits
from transformer_course.data.plain import to_plain
from transformer_course.decoding.translate import translate
from transformer_course.interpretation.hooks import heads_of

MODELS = ("grammar", "en-ja", "ja-en")
STATIC = "_static/live"
BASE = ("parts", "ui")
"""Scripts that every figure needs, in their order."""
ENGINE = (
    *("layers", "attention", "transformer", "search", "tokenizer"),
    *("plain", "weights", "worker", "translator", "stage"),
)
"""Scripts of figures that run a model."""
FILM = ("film", "reels", "boxes")
"""Scripts of figures that show a film of matrices."""
DRAWING = Path(__file__).parents[1] / "en/figures/transformer.svg"
GOALS = [
    {
        "word": 2,
        "least": 0.8,
        "text": "Done: {} has over 80 %.",
    },
    {
        "word": 1,
        "least": 0.9,
        "text": "Done: {} has over 90 %. Every other score is far lower.",
    },
]
"""What the reader is asked to bring about in the plane."""

SENTENCES = (
    ("cats|dogs|birds|children|women", "drink|buy|see", "milk|water", "."),
    ("i am|you are|he is|she is", "wiser|taller|older|busier", "than")
    + ("you|him|her|ken", "."),
    ("hanako|taro|my teacher|the old doctor", "wrote|read|did not read")
    + ("a letter|this book|three novels", "in the garden|at the station", "."),
    ("where|when", "did", "emi|your friends", "buy|see")
    + ("this hat|the dog", "?"),
    ("the boy|my father", "will not|will", "ride the bicycle|work")
    + ("because it is raining", "."),
    ("emi|my father|the girl", "plays", "the piano|tennis|in the park", "."),
)
"""Sentences of the page: for each place what can stand there."""
NEGATED = "the women will not drink tea ."
"""Chapter 07 looks at its heads."""

BY_HAND = {
    "words": ["cats", "drink", "milk"],
    "features": ["noun", "alive", "drinkable", "verb"],
    "asked": "can be drunk",
    "asks": 1,
    "X": [[1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]],
    "one": {
        "Q": [[0, 0], [0, 2], [0, 0], [2, 2]],
        "K": [[0, 0], [1.1513, 0], [0, 1.0986], [-0.5, 0.5]],
        "V": [[0, 0], [4, 0], [0, 4], [4, 4]],
    },
    "two": {
        "Q": [
            [[0, 0], [0, 4], [0, 0], [4, 0]],
            [[0, 0], [0, 0], [0, 4], [4, 0]],
        ],
        "K": [
            [[0, 0], [1, 0], [0, 0], [0, 1]],
            [[0, 0], [0, 0], [1, 0], [0, 1]],
        ],
        "V": [[[0, 0], [4, 0], [0, 4], [4, 4]]] * 2,
        "O": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, -1, 0], [0, 1, 0, -1]],
    },
}
"""The words and matrices of chapter 04, and those of chapter 07's two heads:
who asks, for what besides the living, and what projects to queries, keys and
values."""
PLAYED = BY_HAND | {
    "words": ["Emi", "plays", "piano"],
    "features": ["noun", "alive", "playable", "verb"],
    "asked": "can be played",
}
"""The same numbers with the words of chapter 00."""

SEARCHED = (
    "cats drink milk .",
    "the busy girls sometimes play in the park .",
    "taro was not busy , but he was tall .",
)
"""Sentences to search: the second needs a beam, the third a penalty."""


COPYING = ("state-32", "state-64", "state-128", "attention")
"""Networks that copy a row; the last may look back."""


def words_of(text: str) -> dict[str, str]:
    """From words to their meanings, as they are written here."""
    entries = text.strip().replace("\n", "; ").split("; ")
    return dict(entry.split(": ") for entry in entries)


PARTICLES = words_of(
    """
は: topic; が: subject; を: object; の: ’s; に: to, in; で: at, by
へ: to; と: that, with; も: too; か: question; た: past; だ: is
ない: not; なかっ: was not; て: (linking); い: -ing; いる: -ing; ある: is
でしょ: will; う: will; たち: plural; から: because; より: than; 。: .
？: ?; 、: ,; なら: not; し: do; する: do; 好き: like; 本: book
背: height; 私: I; 彼: he; 彼女: she; 彼ら: they; 君: you
人: (counter); 匹: (counter); 冊: (counter); 枚: (counter)
台: (counter); 通: (counter); 個: (counter); 羽: (counter)
毎朝: every morning; 毎日: every day; 来週: next week; 今朝: this morning
先週: last week; 今: now; 今日: today; 雨: rain; 雪: snow
降っ: fall; こと: thing; できる: can; な: (linking); だっ: was
"""
)
"""What words mean whose English is no single word."""
GRAMMAR = {"topic", "subject", "object", "question", "past", "plural"}
GRAMMAR |= {"(linking)", "(counter)", "(ending)"}
"""Glosses that are no English words."""


FREE = {
    "en-ja": {
        "text": "He is taller than his brother.",
        "gloss": "彼: he; は: topic; 兄: brother; より: than; 背: height; "
        "が: subject; 高: tall; い: (ending); 。: .",
    },
    "ja-en": {
        "text": "昨日から雨が降っている。",
        "gloss": "昨: yester-; 日: day; から: since; 雨: rain; が: subject; "
        "降: fall; っ: (linking); て: (linking); って: (linking); い: -ing; "
        "る: (ending); 。: .",
    },
}
"""Where the larger translators begin, with the meaning of each piece."""

SENSES = {
    "弾く": ("hiku", "on an instrument"),
    "する": ("suru", "a sport or a game"),
    "遊ぶ": ("asobu", "for fun"),
}
"""What *play* is in Japanese: how that is read, and when it is said."""
SUBJECT = "the children play "
"""How the sentences of the senses begin."""
SENSED = words_of(
    """
子供たち: children; は: topic; を: object; で: in; 公園: park; 外: outside
猫: cat; と: with; ピアノ: piano; ギター: guitar; バイオリン: violin
テニス: tennis; 野球: baseball; サッカー: soccer; 。: .
弾きます: play; します: play; 遊ぶ: play; 遊んでいる: play
"""
)
"""What the larger translator writes of them."""


@cache
def glosses() -> dict[str, str]:
    """English for each Japanese word of the grammar.

    That is the word with which it is most often paired in the grammar's gold
    alignments, of those that are seldom paired with another.
    """
    pairs, count = defaultdict(Counter), Counter()
    for pair in grammar_splits(train=4000)[0]:
        src, tgt = pair.src.split(), pair.tgt.split()
        for i, j in pair.alignment:
            pairs[tgt[j]][src[i]] += 1
            count[src[i]] += 1
    found = {
        ja: max(by, key=lambda en: by[en] ** 2 / count[en])
        for ja, by in pairs.items()
    }
    return {ja: noted(en) for ja, en in (found | PARTICLES).items()}


def noted(gloss: str) -> str:
    """A gloss; what it says of grammar is in the language of the book."""
    return say(gloss) if gloss in GRAMMAR else gloss


def slots() -> list[list[list[str]]]:
    """For each sentence and place what can stand there."""
    return [[slot.split("|") for slot in sentence] for sentence in SENTENCES]


@cache
def examples() -> list[tuple[str, str]]:
    """The sentences as they first stand there, translated by the model."""
    loaded = load_shipped("grammar")
    src = [" ".join(slot[0] for slot in sentence) for sentence in slots()]
    tgt = translate(loaded.model, loaded.tokenizer, src, 1)
    return [
        (one, other.replace(" ", ""))
        for one, other in zip(src, tgt, strict=True)
    ]


def model_data(options: dict[str, Any]) -> dict[str, Any]:
    """What a figure that runs the small translator is told."""
    last = "decoder.layers.1.cross_attention"
    return {"sentences": slots(), "gloss": glosses(), "lastCross": last}


def free_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the figure of the larger translators is told."""
    examples = {
        name: example
        | {
            "gloss": {
                ja: noted(en) for ja, en in words_of(example["gloss"]).items()
            }
        }
        for name, example in FREE.items()
    }
    return {"examples": examples, "gloss": plain_glosses()}


def plain_glosses() -> dict[str, str]:
    """The glosses that hold in any sentence: of the words that are no kana
    alone and no counters."""
    return {
        ja: en
        for ja, en in glosses().items()
        if not re.fullmatch("[ぁ-ん。、？]+", ja) and not en.startswith("(")
    }


def sensed(text: str) -> list[list]:
    """The words of what is written: each with its meaning, and whether it
    stands for *play*."""
    longest = sorted(SENSED, key=len, reverse=True)
    words = re.findall("|".join(map(re.escape, longest)), text)
    return [[one, noted(SENSED[one]), SENSED[one] == "play"] for one in words]


def senses_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the figure of a word's senses is told."""
    stored = store.read_json(store.folder("senses") / "play.json")
    sentences = [
        {
            "text": to_plain(one["text"], "en"),
            "label": one["text"].removeprefix(SUBJECT).removesuffix(" ."),
            "words": sensed(to_plain(one["written"], "ja")),
            "path": one["path"],
        }
        for one in stored["sentences"]
    ]
    shown = {word: one["shown"] for word, one in WORDS["play"].items()}
    senses = [
        {
            "word": word,
            "reading": say(SENSES[word][0]),
            "gloss": say(SENSES[word][1]),
            "shown": shown[word],
        }
        for word in stored["senses"]
    ]
    kept = {name: stored[name] for name in ("middle", "axes", "means")}
    kept["gloss"] = plain_glosses() | SENSED
    train = [place for *place, _ in stored["train"]]
    label = say("Where play lies on a plane, after each layer of the encoder")
    found = {"sentences": sentences, "senses": senses, "train": train}
    return kept | found | {"label": label}


def plane_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the figure of queries and keys is told."""
    words = BY_HAND if "controls" in options else PLAYED
    return {
        "controls": "controls" in options,
        "words": words["words"],
        "asked": say(words["asked"]),
        "goals": [goal | {"text": say(goal["text"])} for goal in GOALS],
    }


def masks_data(options: dict[str, Any]) -> dict[str, Any]:
    """Five tokens, each with the vector that is query, key and value.

    The padding's is zero, which is a score like any other.
    """
    words = "cats drink milk eos pad".split()
    vectors = [[1.4, 0.2], [0.8, 1.1], [0.2, 1.6], [-0.9, -0.5], [0.0, 0.0]]
    return {"words": words, "vectors": vectors, "prefix": 2}


def clocks_data(options: dict[str, Any]) -> dict[str, Any]:
    """The encoding's width, the hands that are drawn, and the reach."""
    return {"width": 128, "hands": [0, 8, 16, 24, 32, 48], "farthest": 60}


def merges_data(options: dict[str, Any]) -> dict[str, Any]:
    """Words with their counts: the chapter's, and some of the grammar's."""
    train, _, _ = grammar_splits(train=8000, dev=0, test=500)
    grammar = Counter(word for pair in train for word in pair.src.split())
    stems = "teach", "play", "drink", "wash"
    return {
        "texts": {
            say("three words"): {"cat": 3, "cats": 2, "hats": 1},
            say("fifteen words of the grammar"): {
                word: count
                for word, count in sorted(grammar.items())
                if word.startswith(stems)
            },
        }
    }


def batch_data(options: dict[str, Any]) -> dict[str, Any]:
    """The lengths of test sentences in words, with ``eos``."""
    _, _, test = grammar_splits(train=8000, dev=0, test=500)
    lengths = [len(pair.src.split()) + 1 for pair in test[:64]]
    return {"lengths": lengths, "step": 2}


def heads_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the figure of heads is told."""
    heads = []
    for head in heads_of(load_shipped("grammar").model):
        kind, place = str(head).split()  # encoder, decoder or cross, and 1.1
        name = f"{say(kind)} {place}"
        heads.append({"part": head.part, "number": head.number, "name": name})
    sentences = [NEGATED, *(src for src, _ in examples())]
    return {"sentences": sentences, "heads": heads, "gloss": glosses()}


def film_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the film is told: the matrices, and which parts are on."""
    root = "short" not in options and "mask" not in options
    on = {"root": root, "mask": "mask" in options, "heads": "heads" in options}
    words = PLAYED if "short" in options else BY_HAND
    said = {
        "features": [*map(say, words["features"])],
        "asked": say(words["asked"]),
    }
    return {**words, **said, "short": "short" in options, "on": on}


def search_data(options: dict[str, Any]) -> dict[str, Any]:
    """What the figure of searches is told."""
    return {"sentences": SEARCHED, "gloss": glosses()}


def whole_data(options: dict[str, Any]) -> dict[str, Any]:
    """The sentences, the parts and the laws."""
    return model_data(options) | parts_data()


def feed_forward_data(options: dict[str, Any]) -> dict[str, Any]:
    """The sentences, and what each unit fires for in others."""
    return model_data(options) | units_data()


def copying_data(options: dict[str, Any]) -> dict[str, Any]:
    """What networks have copied, of stored trainings: the share of symbols
    right over all seeds, and one more training's copies of some rows."""
    settings, stored = store.settings("copying"), store.records("copying")
    networks = {}
    for name in COPYING:
        seeds = stored[name]
        looks = (seed["looks"][-1]["symbols"] for seed in seeds)
        shares = [*zip(*looks, strict=True)]
        networks[name] = {
            "size": settings["variants"][name]["d_hidden"],
            "mean": [round(sum(at) / len(at), 4) for at in shares],
            "low": [*map(min, shares)],
            "high": [*map(max, shares)],
            "copies": stored[f"copies/{name}"][0]["copies"],
        }
    return {
        "networks": networks,
        "trainings": len(stored[COPYING[0]]),
        "tested": settings["tested"] * len(stored[COPYING[0]]),
        **{key: settings[key] for key in ("lengths", "longest", "shown")},
    }


def lit(name: str) -> str:
    """The whole model in small, with the parts of this name lit."""
    drawn = course_minimap.drawing(ElementTree.parse(DRAWING).getroot(), name)
    return ElementTree.tostring(drawn, encoding="unicode")


class Figure(NamedTuple):
    """How a figure is made; ``live/NAME.html`` is its template, and
    ``_static/live/NAME_figure.js`` its script."""

    data: Callable[[dict[str, Any]], dict[str, Any]]
    """From the directive's options to what the script is told."""
    runs_model: bool = False
    options: tuple[str, ...] = ()
    """Of the directive, besides ``caption``."""
    scripts: tuple[str, ...] = ()
    """That it needs besides, in their order."""


FIGURES = {
    "translator": Figure(
        model_data, runs_model=True, options=("switches", "sentence")
    ),
    "free-translator": Figure(free_data, runs_model=True),
    "senses": Figure(senses_data, runs_model=True),
    "plane": Figure(plane_data, options=("controls",)),
    "film": Figure(
        film_data,
        runs_model=True,
        options=("short", "mask", "heads", "switches"),
        scripts=FILM,
    ),
    "masks": Figure(masks_data),
    "clocks": Figure(clocks_data),
    "merges": Figure(merges_data),
    "batch": Figure(batch_data),
    "walk": Figure(model_data, runs_model=True, scripts=FILM),
    "heads": Figure(heads_data, runs_model=True),
    "search": Figure(search_data, runs_model=True, options=("sampling",)),
    "river": Figure(model_data, runs_model=True),
    "rate": Figure(lambda options: {}),
    "parts": Figure(whole_data, runs_model=True),
    "bottleneck": Figure(copying_data),
    "units": Figure(feed_forward_data, runs_model=True),
    "root": Figure(lambda options: {}),
}


def drawing() -> str:
    """The picture of the whole, in the language of the book."""
    svg = DRAWING.read_text("utf-8")
    if course_edition.language == "en":
        return svg
    return translate_drawing(svg, read_labels("index"))


def render(name: str, options: dict[str, Any], root: str, number: int) -> str:
    """A figure in HTML.

    Args:
        name: one of :data:`FIGURES`.
        options: of the directive.
        root: from the page to the first page's folder: "" or "../".
        number: of the figure in the build, for ids.
    """
    data = FIGURES[name].data(options)
    if FIGURES[name].runs_model:
        data |= {"folder": f"{root}{STATIC}/models"}
    return template("course_live.html").render(
        name=name,
        language=course_edition.language,
        id=f"live-{number}",
        options=options,
        examples=examples,
        drawing=drawing,
        lit=lit,
        data=data,
    )


class Live(SphinxDirective):
    """``live``: a figure that answers."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {
        "switches": directives.flag,
        "controls": directives.flag,
        "sentence": directives.positive_int,
        "sampling": directives.flag,
        "short": directives.flag,
        "mask": directives.flag,
        "heads": directives.flag,
        "caption": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """The figure as raw HTML."""
        [name] = self.arguments
        if name not in FIGURES:
            raise self.error(
                f"live: no figure is named {name!r}: choose one of "
                f"{', '.join(FIGURES)}."
            )
        known = ("caption", *FIGURES[name].options)
        if wrong := [option for option in self.options if option not in known]:
            raise self.error(
                f"live: the figure {name} has the options {', '.join(known)},"
                f" and :{wrong[0]}: is given: leave it out."
            )
        if self.options.get("sentence", 1) not in range(1, len(SENTENCES) + 1):
            raise self.error(
                f"live: the translator has sentences 1 to {len(SENTENCES)}, "
                f"and :sentence: {self.options['sentence']} is given: choose "
                "one of them."
            )
        self.env.note_dependency(str(FOLDER / "grammar" / "model.safetensors"))
        root = "../" * self.env.docname.count("/")
        number = self.env.new_serialno("live")
        html = render(name, self.options, root, number)
        return [nodes.raw("", html, format="html", classes=["live", name])]


def add_files(
    app: Sphinx, page: str, template: str, context: dict, doctree: Any
) -> None:
    """Scripts and style, for the pages that have such a figure."""
    if doctree is None:
        return
    classes = [n["classes"] for n in doctree.findall(nodes.raw)]
    used = [name for name in FIGURES if ["live", name] in classes]
    scripts = [f"{name.replace('-', '_')}_figure" for name in used]
    more = dict.fromkeys(s for name in used for s in FIGURES[name].scripts)
    scripts = [*more, *scripts]
    if any(FIGURES[name].runs_model for name in used):
        scripts = [*ENGINE, *scripts]
    if used:
        for script in (*BASE, *scripts):
            app.add_js_file(f"live/{script}.js", loading_method="defer")
        app.add_css_file("live/live.css")


def write_models(app: Sphinx, error: Exception | None) -> None:
    """Write the weights beside the pages."""
    if error or app.builder.format != "html":
        return
    for name in MODELS:
        folder = Path(app.outdir) / STATIC / "models" / name
        shutil.rmtree(folder, ignore_errors=True)
        loaded = load_shipped(name)
        parts = loaded.model, loaded.tokenizer, loaded.details
        web_export.save(folder, *parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("live", Live)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_models)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
