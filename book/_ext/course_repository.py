"""Where the course can be fetched from, if it is said: ``make book REPO=…``.

With ``REPO``, the address of the repository (https://github.com/OWNER/NAME),
pages have buttons to suggest an edit and to report a mistake, and chapters
buttons to open them on Binder and Colab. A server of one's own has those that
it can serve. What stands in a block is then shown, with the address in the
place of ``REPO`` and the repository's name in that of ``NAME``:

    ````{with-repository}
    ```bash
    git clone REPO
    ```
    ````

In the same way ``with-site`` shows what needs the address of the site, with
``SITE_URL``. Without the addresses, nothing of this is there, and no name of
another host.
"""

import os
import re
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

BRANCH = "main"
BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"
ADDRESS = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+")


def read_address() -> str:
    """The address of the repository; "" if none is said.

    Raises:
        ExtensionError: it is none.
    """
    given = os.environ.get("REPO", "").strip()
    address = given.removesuffix("/").removesuffix(".git")
    if address and not ADDRESS.fullmatch(address):
        raise ExtensionError(
            f"REPO is {given!r}; it should be the address of the repository, "
            "such as https://github.com/OWNER/NAME."
        )
    return address


def provider_of(address: str) -> str:
    """Whose addresses a server has; "" if the theme knows none like it."""
    host = urlsplit(address).hostname or ""
    if host == "github.com":
        return "github"
    return "gitlab" if "gitlab" in host.split(".") else ""


def launch_buttons(address: str) -> dict[str, str]:
    """Services that open a notebook of the repository, by the theme's names.

    Binder and Colab fetch it themselves, from the servers that they know.
    """
    services = {}
    if address.startswith(("https://github.com/", "https://gitlab.com/")):
        services |= {"binderhub_url": BINDER}
    if address.startswith("https://github.com/"):
        services |= {"colab_url": COLAB}
    return services


def set_buttons(app: Sphinx, config: Config) -> None:
    """Ask the theme for buttons, if there is somewhere for them to lead."""
    config.course_addresses = [read_address(), config.html_baseurl]
    address = read_address()
    if not (provider := provider_of(address)):
        return
    config.html_theme_options |= {
        "repository_url": address,
        "repository_provider": provider,
        "repository_branch": BRANCH,
        "path_to_docs": f"book/{config.language}",
        "use_repository_button": True,
        "use_edit_page_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            **launch_buttons(address),
        },
    }


class WithAddress(SphinxDirective):
    """What is said only where there is an address, with that in it."""

    has_content = True

    def said(self) -> dict[str, str]:
        """What stands for what in the content; empty without an address."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The content with the address in it; or nothing."""
        if not (said := self.said()):
            return []
        for number, line in enumerate(self.content):
            for name, value in said.items():
                line = re.sub(rf"\b{name}\b", value, line)
            self.content[number] = line
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return holder.children


class WithRepository(WithAddress):
    """What needs the address of the repository."""

    def said(self) -> dict[str, str]:
        """The address, and the folder that a clone of it makes."""
        address = read_address()
        name = address.rpartition("/")[2]
        return {"REPO": address, "NAME": name} if address else {}


class WithSite(WithAddress):
    """What needs the address of the site."""

    def said(self) -> dict[str, str]:
        """The folder of the first page."""
        base = self.config.html_baseurl.rstrip("/")
        return {"SITE_URL": base} if base else {}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the blocks and the buttons."""
    app.add_config_value("course_addresses", [], "env")
    app.add_directive("with-repository", WithRepository)
    app.add_directive("with-site", WithSite)
    app.connect("config-inited", set_buttons, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
