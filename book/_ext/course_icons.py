"""The icons that the pages use, as one small font inside a style sheet.

The theme brings Font Awesome: a script of 1.5 MB that the browser must read
before it shows a word, and fonts of 300 kB, which Chromium does not load from
``file://``. When the book is built, this takes out of the theme's own font the
icons that the pages and the theme's style sheets name. They are a few
kilobytes, and stand in the style sheet itself, so that they need no address.
"""

import base64
import re
from io import BytesIO
from pathlib import Path

import pydata_sphinx_theme
from course_assets import classes_of
from fontTools import subset
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

FILE = "course_icons.css"
FONT_AWESOME = "theme/pydata_sphinx_theme/static/vendor/fontawesome"
STYLES = {  # the classes that ask for a font: its file, name and weight
    ("fa-solid", "fas"): ("fa-solid-900", "Font Awesome 6 Free", 900),
    ("fa-regular", "far"): ("fa-regular-400", "Font Awesome 6 Free", 400),
    ("fa-brands", "fab"): ("fa-brands-400", "Font Awesome 6 Brands", 400),
}


def find_font_awesome() -> Path:
    """The folder of Font Awesome in the installed theme."""
    vendor = Path(pydata_sphinx_theme.__file__).parent / FONT_AWESOME
    for sheet in sorted(vendor.glob("*/css/all.min.css")):
        return sheet.parents[1]
    raise ExtensionError(f"{vendor} has no Font Awesome: run `make env`.")


def used_classes(site: Path) -> set[str]:
    """Every class that a page has, or that a script of the theme gives."""
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    scripts = [
        path.read_text(encoding="utf-8")
        for path in (site / "_static/scripts").glob("*.js")
    ]
    return set().union(*map(classes_of, pages)) | {
        name
        for script in scripts
        for name in re.findall(r"\bfa-[a-z0-9-]+", script)
    }


def used_signs(site: Path) -> set[int]:
    """Every sign from the fonts that the theme's style sheets write."""
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (site / "_static/styles").glob("*.css")
    )
    codes = re.findall(r"\\(f[0-9a-f]{3})", text)
    return {int(code, 16) for code in codes} | {
        ord(sign) for sign in text if "\ue000" <= sign <= "\uf8ff"
    }


def rules_for(css: str, classes: set[str]) -> list[tuple[str, str]]:
    """Selectors and declarations of a sheet that these classes need."""
    kept = []
    for selectors, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        selectors = re.sub(r"/\*.*?\*/", "", selectors, flags=re.S)
        needed = [
            selector
            for selector in selectors.split(",")
            if selector.startswith((".fa", ":root"))
            and set(re.findall(r"\.(fa[\w-]*)", selector)) <= classes
        ]
        if needed:
            kept.append((",".join(needed), declarations))
    return kept


def font_face(path: Path, family: str, weight: int, signs: set[int]) -> str:
    """A rule that holds these signs of a font."""
    options = subset.Options(flavor="woff", recalc_timestamp=False)
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=signs)
    subsetter.subset(font)
    buffer = BytesIO()
    subset.save_font(font, buffer, options)
    data = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'@font-face{{font-family:"{family}";font-weight:{weight};'
        f'src:url(data:font/woff;base64,{data}) format("woff")}}'
    )


def icon_sheet(source: Path, classes: set[str], signs: set[int]) -> str:
    """A style sheet with these icons alone, and their licence."""
    css = (source / "css/all.min.css").read_text(encoding="utf-8")
    licence = css[: css.index("*/") + 2]
    rules, drawn = [], set(signs)
    for selectors, declarations in rules_for(css, classes):
        if code := re.fullmatch(r'content:"\\([0-9a-f]+)"', declarations):
            drawn.add(int(code[1], 16))
            declarations += f';{declarations}/""'  # unread by readers
        rules.append(f"{selectors}{{{declarations}}}")
    fonts = [
        font_face(source / f"webfonts/{file}.ttf", family, weight, drawn)
        for names, (file, family, weight) in STYLES.items()
        if classes & set(names)
    ]
    return "\n".join([licence, *fonts, *rules, ""])


def write_icons(app: Sphinx, error: Exception | None) -> None:
    """Write the sheet, and remove what it stands for."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    sheet = icon_sheet(
        find_font_awesome(), used_classes(site), used_signs(site)
    )
    (site / "_static" / FILE).write_text(sheet, encoding="utf-8")
    copied = site / "_static/vendor/fontawesome"
    for kind in ("css/*.css", "js/*.js*", "webfonts/*"):
        for path in copied.glob(f"*/{kind}"):
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_css_file(FILE, priority=110)
    app.connect("build-finished", write_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
