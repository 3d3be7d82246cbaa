"""Where the course can be fetched from, if it is said: ``make book REPO=…``.

With ``REPO``, the address of the repository (https://github.com/OWNER/NAME),
pages have buttons to suggest an edit, and chapters buttons to open them on
Binder and Colab. What stands in a block is then shown, with the address in
the place of ``REPO``:

    ```{with-repository}
    git clone REPO
    ```

Without it, nothing of this is there, and no address of another host.
"""

import os
import re
from typing import Any

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


def set_buttons(app: Sphinx, config: Config) -> None:
    """Ask the theme for buttons, if there is somewhere for them to lead."""
    address = read_address()
    config.course_repository = address
    if not address:
        return
    folder = f"book/{config.language}"
    buttons: dict[str, Any] = {
        "notebook_interface": "jupyterlab",
        "binderhub_url": BINDER,
    }
    if address.startswith("https://github.com/"):
        buttons["colab_url"] = COLAB
    config.html_theme_options |= {
        "repository_url": address,
        "repository_branch": BRANCH,
        "path_to_docs": folder,
        "use_repository_button": True,
        "use_edit_page_button": True,
        "launch_buttons": buttons,
    }


class WithRepository(SphinxDirective):
    """What is said only where the repository has an address."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The content, with the address in it; or nothing."""
        address = read_address()
        if not address:
            return []
        name = address.rpartition("/")[2]
        for number, line in enumerate(self.content):
            line = line.replace("REPO", address).replace("NAME", name)
            self.content[number] = line
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the block and the buttons."""
    app.add_config_value("course_repository", "", "env")
    app.add_directive("with-repository", WithRepository)
    app.connect("config-inited", set_buttons, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
