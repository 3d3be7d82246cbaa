"""Addresses that a build may be given: ``make book REPO=… SITE_URL=…``.

``REPO`` is the repository: with it pages have the theme's buttons to edit, to
report and to launch, and show what stands in a block ``{only} repository``.
``SITE_URL`` is the folder of the first page: with it pages carry canonical
addresses and Open Graph's tags, there is a page ``404.html``, and blocks
``{only} site`` are shown. In such blocks ``%REPO%``, ``%NAME%`` (of the
repository) and ``%SITE_URL%`` stand for the addresses. Without addresses no
page names another host.
"""

import os
import re
from urllib.parse import urlsplit

from course_edition import say
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

PICTURE = "The Transformer as a diagram of boxes."
SORRY = "Unfortunately we couldn't find the content you were looking for."
PATTERNS = {
    "REPO": (
        r"https://[\w.-]+/[\w.-]+/[\w.-]+",
        "the address of the repository, such as https://github.com/OWNER/NAME",
    ),
    "SITE_URL": (
        r"https?://[^/\s]+(/\S*)?",
        "where the first page will be, such as https://example.org/course/",
    ),
}


def read_address(variable: str) -> str:
    """Address in a variable of the environment; empty without one.

    Raises:
        ExtensionError: it has another form.
    """
    given = os.environ.get(variable, "").strip()
    address = given.removesuffix("/").removesuffix(".git")
    pattern, expected = PATTERNS[variable]
    if address and not re.fullmatch(pattern, address):
        raise ExtensionError(
            f"{variable} is {given!r}; it should be {expected}."
        )
    return address


def repository_options(address: str) -> dict[str, object]:
    """Theme options for a repository on a server that the theme knows."""
    host = urlsplit(address).netloc
    if "github" not in host and "gitlab" not in host:
        return {}
    launch = {
        "notebook_interface": "jupyterlab",
        "binderhub_url": "https://mybinder.org",
    }
    if host == "github.com":
        launch["colab_url"] = "https://colab.research.google.com"
    public = host in ("github.com", "gitlab.com")
    return {
        "repository_url": address,
        "repository_branch": "main",
        "path_to_docs": "book/en",
        "use_repository_button": True,
        "use_edit_page_button": True,
        "use_issues_button": True,
        "launch_buttons": launch if public else {},
    }


def configure(app: Sphinx, config: Config) -> None:
    """Set what depends on the addresses."""
    repository, site = read_address("REPO"), read_address("SITE_URL")
    if site and config.language == "ja":
        site += "/ja"  # tools/site.py
    config.course_addresses = {
        "REPO": repository,
        "NAME": repository.rpartition("/")[2],
        "SITE_URL": site,
    }
    if repository:
        app.tags.add("repository")
        config.html_theme_options |= repository_options(repository)
    if site:
        app.tags.add("site")
        config.html_baseurl = config.ogp_site_url = f"{site}/"
        config.ogp_site_name = config.html_title
        config.ogp_image = "_static/preview.png"
        config.ogp_image_alt = say(PICTURE)
        config.notfound_urls_prefix = f"{urlsplit(site).path}/"
        title = say("Page not found")
        body = f"<h1>{title}</h1>\n\n{say(SORRY)}"
        config.notfound_context = {"title": title, "body": body}


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the addresses into a page.

    Without one the block with it is parsed, and left out of the page.
    """
    for name, address in app.config.course_addresses.items():
        known = address or "https://example.org"
        source[0] = source[0].replace(f"%{name}%", known)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("course_addresses", {}, "env")
    if read_address("SITE_URL"):
        app.setup_extension("sphinxext.opengraph")
        app.setup_extension("notfound.extension")
    app.connect("config-inited", configure, priority=900)
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
