"""What a page says of itself: titles, descriptions, addresses, and the 404."""

import importlib
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, build_project
from PIL import Image

sys.path.insert(0, str(BOOK / "_ext"))
course_meta = importlib.import_module("course_meta")
course_preview = importlib.import_module("course_preview")

INVENTED = "https://course.example/books/transformer"
PROSE = "A sentence which is long enough to say what this page is about. "
PAGES = {
    "index": "# The book\n\n```{toctree}\npart/one\n```\n",
    "part/one": "# One\n\n$a$ in a formula is no description of a page.\n\n"
    f'{PROSE * 9}"<&\n',
}


@pytest.fixture(scope="module", params=["", INVENTED], ids=["no", "given"])
def site(request, tmp_path_factory) -> Path:
    """Two pages, built without an address and with an invented one."""
    folder = tmp_path_factory.mktemp("meta")
    source = folder / "source"
    (source / "part").mkdir(parents=True)
    (source / "conf.py").touch()
    for name, text in PAGES.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copytree(BOOK / "en/figures", source / "figures")
    settings = {
        "extensions": ["myst_parser", "sphinx_book_theme", "course_meta"],
        "html_theme": "sphinx_book_theme",
        "html_title": "The book",
        "html_static_path": [str(BOOK / "_static")],
        "myst_enable_extensions": ["dollarmath"],
        "language": "en",
        "suppress_warnings": ["config.cache"],
    }
    built = folder / ("given" if request.param else "none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITE_URL", request.param)
        assert build_project(source, built, settings) == ""
    return built


def head(site: Path, page: str) -> BeautifulSoup:
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser").head


def said(site: Path, page: str) -> dict[str, str]:
    return {
        tag.get("name") or tag["property"]: tag["content"]
        for tag in head(site, page).select("meta[name], meta[property]")
    }


def has_address(site: Path) -> bool:
    return site.name == "given"


def test_the_first_page_says_the_book_s_name_once(site):
    assert head(site, "index").title.string == "The book"
    assert head(site, "part/one").title.string == "One — The book"


def test_a_page_is_described_by_its_first_prose(site):
    text = said(site, "part/one")["description"]
    assert text.startswith(PROSE.strip())
    assert text.endswith("…")
    assert len(text) <= course_meta.LONGEST
    assert said(site, "part/one")["og:description"] == text
    assert said(site, "part/one")["og:title"] == "One"
    assert said(site, "index")["description"] == course_meta.WORDS["en"].book


def test_an_address_is_written_where_one_is_given_and_never_else(site):
    canonical = [
        link["href"]
        for link in head(site, "part/one").select("link[rel=canonical]")
    ]
    written = said(site, "part/one")
    if has_address(site):
        address = f"{INVENTED}/part/one.html"
        assert canonical == [address]
        assert written["og:url"] == address
        picture = f"{INVENTED}/_static/{course_preview.PREVIEW}"
        assert written["og:image"] == picture
    else:
        assert not canonical
        assert not {"og:url", "og:image"} & set(written)


def test_the_preview_has_the_size_that_the_pages_say(site):
    with Image.open(site / "_static" / course_preview.PREVIEW) as picture:
        assert picture.size == course_preview.SIZE
        colours = picture.convert("RGB").getcolors(2**24)
    assert len(colours) > 20, "no picture is on it"


def test_links_of_the_404_count_from_the_address_of_the_site(site):
    text = (site / "404.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(text, "html.parser")
    first = soup.find(["base", "link", "script"])
    if has_address(site):
        assert first.name == "base"
        assert first["href"] == f"{INVENTED}/"
    else:
        assert not soup.select("base")
    links = [link["href"] for link in soup.select("article a")]
    assert {"index.html", "search.html"} <= set(links)
    assert all((site / link).is_file() for link in links if "#" not in link)


@pytest.mark.parametrize("given", [INVENTED, f"{INVENTED}/", f"{INVENTED}//"])
def test_an_address_is_a_folder_s(monkeypatch, given):
    monkeypatch.setenv("SITE_URL", given)
    config = SimpleNamespace()
    course_meta.take_address(None, config)
    assert config.html_baseurl == f"{INVENTED}/"


@pytest.mark.parametrize("given", ["example.org", "ftp://a/", "https://"])
def test_what_is_no_address_is_told(monkeypatch, given):
    monkeypatch.setenv("SITE_URL", given)
    with pytest.raises(course_meta.ExtensionError, match="should be where"):
        course_meta.take_address(None, None)


def test_the_preview_draws_the_lines_of_a_path():
    lines = course_preview.points_of("M1 2h3v-1M5 5V9H0")
    assert lines == [[(1, 2), (4, 2), (4, 1)], [(5, 5), (5, 9), (0, 9)]]
