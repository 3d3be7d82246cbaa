"""Make the course's fonts from their packages on npm.

    npm pack @ibm/plex-sans@1.1.0 @fontsource/iosevka@5.3.0
    python -m tools.fonts ibm-plex-sans-1.1.0.tgz fontsource-iosevka-5.3.0.tgz

needs ``pip install fonttools brotli``. Pages take the WOFF2 files in
``book/_static/fonts``, figures the TrueType ones of the package. Both hold the
letters that the course writes, without ligatures; Japanese is drawn in a font
of the reader's system. A changed font may not keep its name, so these are
called Course Sans and Course Mono; their licence (OFL 1.1) stands beside them.
"""

import io
import sys
import tarfile
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "book/_static/fonts"
FIGURES = ROOT / "transformer_course/figures/fonts"
SOURCES = {
    "sans-regular": "IBMPlexSans-Regular.woff2",
    "sans-italic": "IBMPlexSans-Italic.woff2",
    "sans-semibold": "IBMPlexSans-SemiBold.woff2",
    "mono-regular": "iosevka-latin-400-normal.woff2",
    "mono-semibold": "iosevka-latin-600-normal.woff2",
}
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x391, 0x3CA)]
SIGNS = [
    *[*range(0x2010, 0x2028), *range(0x2030, 0x203C), *range(0x2070, 0x209D)],
    *[*range(0x2190, 0x21B6), *range(0x2713, 0x2719), *range(0x1D62, 0x1D66)],
    *map(ord, "ᵀ⅓ⅈ⁇⏎␣ⱼ⟨⟩∂∈∑−√∞∩∪≈≠≤≥⊙⊕⋅⋯─│┌┐└┘├┤▀▁▂▃▄▅▆▇█░▒▓■□▲△▶▷▼◀●○◆"),
]
FEATURES = ["kern", "mark", "tnum"]
FAMILIES = {"sans": "Course Sans", "mono": "Course Mono"}


def main(packages: list[str]) -> None:
    """Write a subset of each font, for pages and for figures."""
    files = {}
    for package in packages:
        with tarfile.open(package) as archive:
            for member in archive.getmembers():
                name = Path(member.name).name
                if name in SOURCES.values():
                    files[name] = archive.extractfile(member).read()
    for name, source in SOURCES.items():
        font = subset(files[source])
        rename(font, FAMILIES[name.split("-")[0]])
        font.flavor = "woff2"
        font.save(PAGES / f"{name}.woff2")
        if name.startswith("sans"):  # matplotlib draws no code
            font.flavor = None
            font.save(FIGURES / f"{name}.ttf")


def subset(content: bytes) -> TTFont:
    """The course's letters of a font."""
    options = Options(hinting=False, desubroutinize=True)
    options.layout_features = FEATURES
    font = TTFont(io.BytesIO(content), recalcTimestamp=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=LATIN + SIGNS)
    subsetter.subset(font)
    return font


def rename(font: TTFont, family: str) -> None:
    """Give a font, of whatever weight and slant, another family."""
    names = font["name"]
    style = names.getDebugName(17) or names.getDebugName(2)
    for number in (16, 17, 21, 22):  # a family is told by its first names
        names.removeNames(nameID=number)
    for number, text in [
        (1, family),
        (2, style),
        (3, f"{family} {style}"),
        (4, f"{family} {style}"),
        (6, f"{family}-{style}".replace(" ", "")),
    ]:
        names.setName(text, number, 3, 1, 0x409)
        names.removeNames(nameID=number, platformID=1)


if __name__ == "__main__":
    main(sys.argv[1:])
