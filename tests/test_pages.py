"""What is put right in each page when it is written, and on the built ones."""

import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup, Tag
from built_book import BOOK, ROOT, build_project
from docutils import nodes
from docutils.utils import new_document
from lxml import html as lxml_html

sys.path.insert(0, str(BOOK / "_ext"))
course_pages = importlib.import_module("course_pages")
course_folded = importlib.import_module("course_folded")

JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")


def body(html: str) -> str:
    return f"<html><body>{html}</body></html>"


def right(html: str, language: str = "en") -> str:
    """A piece of a page, put right."""
    page = course_pages.put_right(body(html), language)
    return page.removeprefix("<html><body>").removesuffix("</body></html>")


# --- languages ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "marked"),
    [
        ("<p>cats: 猫。</p>", ["猫。"]),
        ("<p>「雨」 and ミルク</p>", ["「雨」", "ミルク"]),
        ("<p>１０ 時 前 に</p>", ["１０ 時 前 に"]),
        ("<p>１０ and （a）</p>", []),
        ("<pre><span>'彼'</span>\n彼女\n猫</pre>", ["彼", "彼女", "猫"]),
        ("<svg><text>猫</text></svg>", ["猫"]),
        ('<p lang="ja">猫<b>猫</b></p>', []),
        ('<p lang="ja"><b lang="en">猫 cats</b></p>', ["猫"]),
        ("<p><br>猫<img alt='犬' src='x'/></p>", ["猫"]),
        ("<script>'猫'</script><svg><title>猫</title></svg>", []),
        ("<p>a &amp; 猫 &#62; 犬</p>", ["猫", "犬"]),
    ],
)
def test_japanese_is_marked_as_such_and_else_nothing_changes(html, marked):
    done = right(html)
    found = re.findall(r'<(t?span) lang="ja">(.*?)</\1>', done)
    assert [text for _, text in found] == marked
    assert all((tag == "tspan") == ("<svg" in html) for tag, _ in found)
    assert re.sub(r'<(t?span) lang="ja">(.*?)</\1>', r"\2", done) == html


def test_in_the_japanese_edition_only_english_parts_have_marks():
    assert right("<p>猫</p>", "ja") == "<p>猫</p>"
    assert 'lang="ja"' in right('<p lang="en">cat 猫</p>', "ja")


def test_every_letter_of_japanese_on_the_pages_is_marked(site):
    unmarked = [
        f"{site.name(path)}: {text.strip()[:60]}"
        for path in site.pages
        for text in tree_of(path).xpath("//body//text()")
        if JAPANESE.search(text) and not is_marked(text)
    ]
    assert not unmarked


def is_marked(text) -> bool:
    """Whether a text is said to be Japanese, or cannot be."""
    parent = text.getparent()
    if text.is_tail:
        parent = parent.getparent()
    (language,) = parent.xpath("ancestor-or-self::*[@lang][1]/@lang")
    return language == "ja" or parent.tag in course_pages.TEXT_ONLY


# --- figures -----------------------------------------------------------------


def test_a_figure_s_image_links_to_itself():
    image = '<img alt="a map" src="_images/a.png"/>'
    soup = BeautifulSoup(right(f"<figure>{image}</figure>"), "html.parser")
    assert soup.figure.a["href"] == soup.img["src"]
    linked = f'<figure><a href="b.html">{image}</a></figure>'
    assert right(linked) == linked
    assert right(image) == image


def test_every_figure_of_the_book_links_to_itself(site):
    found = 0
    for path in site.pages:
        for image in tree_of(path).xpath("//figure//img"):
            link = image.getparent().get("href")
            assert link == image.get("src"), site.name(path)
            found += 1
    assert found > 100


# --- names -------------------------------------------------------------------

CONTENTS = (
    '<div class="bd-sidebar-primary bd-sidebar"><a href="a">The <b>part</b>'
    '</a><details><summary><span class="toctree-toggle" role="presentation">'
    "<i></i></span></summary></details></div>"
)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_opens_a_part_of_the_contents_says_which(language):
    words = course_pages.WORDS[language]
    soup = BeautifulSoup(right(CONTENTS, language), "html.parser")
    assert soup.span["aria-label"] == words.pages_of.format("The part")
    assert soup.div["aria-label"] == words.contents


def test_everything_that_unfolds_has_a_name_that_stands_on_it(site):
    for path in site.pages:
        for summary in tree_of(path).iter("summary"):
            named = summary.xpath(".//*[@role='img']/@aria-label")
            assert named or summary.text_content().strip(), site.name(path)
            assert summary.get("aria-label") is None, site.name(path)


def test_no_two_folds_of_a_page_have_the_same_name(site):
    for path in site.pages:
        titles = tree_of(path).xpath(
            "//summary/*[starts-with(@class, 'collapsed')]"
        )
        names = [title.text_content() for title in titles]
        assert not [name for name in names if "code cell" in name]
        assert len(set(names)) == len(names), site.name(path)


@pytest.mark.parametrize(
    ("language", "titles"),
    [
        (
            "en",
            [
                "Show the code of Figure 4.2",
                "Show the code of cell 7",
                "Show the output of cell 8",
                "A title",
            ],
        ),
        (
            "ja",
            [
                "図 4.2のコードを表示",
                "セル 7のコードを表示",
                "セル 8の出力を表示",
                "A title",
            ],
        ),
    ],
)
def test_a_fold_is_called_by_its_figure_or_its_cell(language, titles):
    document = new_document("a page")
    document += [
        folded_cell(6, "input", nodes.figure(ids=["fig-a"])),
        folded_cell(7, "input"),
        folded_cell(8, "output"),
        folded_cell(9, "input", prompt="A title"),
    ]
    document.settings.env = SimpleNamespace(
        docname="page",
        toc_fignumbers={"page": {"figure": {"fig-a": (4, 2)}}},
        config=SimpleNamespace(
            language=language,
            nb_code_prompt_show=PROMPT,
            numfig_format={"figure": FIGURE[language]},
        ),
    )
    document.settings.env.app = document.settings.env
    course_folded.NameFoldedCells(document).run()
    assert [cell["prompt_show"] for cell in document] == titles
    plain = ["plain-fold" in cell["classes"] for cell in document]
    assert plain == [True, True, True, False]


PROMPT = "Show code cell {type}"
FIGURE = {"en": "Figure %s", "ja": "図 %s"}


def folded_cell(number, mode, *children, prompt=PROMPT) -> nodes.container:
    """A cell as MyST-NB leaves it to what comes later."""
    return nodes.container(
        "",
        *children,
        exec_count=number,
        hide_mode=mode,
        prompt_show=prompt,
        prompt_hide=prompt,
    )


def test_a_list_right_in_a_list_is_an_item_of_it():
    html = "<ul><li>a</li><ul><li>b<ul><li>c</li></ul></li></ul></ul>"
    tree = lxml_html.fromstring(right(html))
    assert {part.tag for part in tree.xpath("//ul/*")} == {"li"}
    assert right(html).count("<ul>") == right(html).count("</ul>") == 3
    assert tree.text_content() == "abc"


def test_a_bibliography_is_a_list(site):
    soup = soup_of(site.folder / "bibliography.html")
    (entries,) = soup.select("[role=list]")
    children = [child for child in entries.children if isinstance(child, Tag)]
    assert {child["role"] for child in children} == {"listitem"}


# --- formulas ----------------------------------------------------------------


def test_no_sign_is_parted_from_its_formula(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text(
        "# Title\n\nOf ($a$), $b$, and $n$-grams $c$ and *$d$*. ($e$ f)\n",
        encoding="utf-8",
    )
    settings = {
        "extensions": [
            "myst_parser",
            "sphinx.ext.mathjax",
            "course_punctuation",
        ],
        "myst_enable_extensions": ["dollarmath"],
        "html_theme": "basic",
    }
    assert not build_project(source, tmp_path / "html", settings)
    soup = soup_of(tmp_path / "html" / "index.html")
    kept = [piece.get_text() for piece in soup.select(".kept-together")]
    assert kept == [r"(\(a\)),", r"\(b\),", r"\(n\)-grams", r"(\(e\)"]
    assert "Of (" in soup.select_one("p").get_text()


def test_no_formula_on_the_pages_is_followed_by_a_sign(site):
    """Outside of the element that keeps the two on one line."""
    for path in site.pages:
        for formula in tree_of(path).xpath(
            "//span[starts-with(@class, 'math')][not(ancestor::nav)]"
        ):
            kept = formula.getparent().get("class") == "kept-together"
            sign = re.match(r"[.,;:!?)]", formula.tail or "")
            assert kept or not sign, site.name(path)


# --- the first page ----------------------------------------------------------


def test_the_first_page_shows_the_ways_in_then_a_result_then_the_model(site):
    article = soup_of(site.folder / "index.html").select_one("article")
    heading = article.h1
    ways = heading.find_next(class_="ways-in")
    targets = [link["href"] for link in ways.select("a[href]")]
    assert [target[:5] for target in targets[:3]] == [
        "01_se",
        "04_at",
        "setup",
    ]
    assert len(targets) == 4
    table = ways.find_next("table")
    assert JAPANESE.search(table.get_text())
    sentence = table.find_next("strong")
    assert "link" in sentence.get_text()
    picture = sentence.find_next("svg")
    assert picture["id"] == "transformer"


# --- machines ----------------------------------------------------------------


def test_no_page_names_a_folder_or_a_place_in_memory_of_a_machine(site):
    place = re.compile(
        rf"{re.escape(str(ROOT))}/|PosixPath\('/|WindowsPath\('[A-Z]:"
        r"| at 0x[0-9a-f]{6,}"
    )
    for path in site.pages:
        found = place.search(path.read_text(encoding="utf-8"))
        assert not found, site.name(path)


def soup_of(path: Path) -> BeautifulSoup:
    """A built page."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


def tree_of(path: Path) -> lxml_html.HtmlElement:
    """The same, where many pages are read: ten times as fast."""
    return lxml_html.fromstring(path.read_bytes())
