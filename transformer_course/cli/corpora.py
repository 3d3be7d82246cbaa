"""``data``: which corpora there are, where they stand, and whether right."""

import os
from typing import Annotated, Literal

import tyro

from transformer_course.data import download
from transformer_course.errors import CorpusError


def data(
    action: Annotated[
        Literal["list", "fetch", "verify"],
        tyro.conf.Positional,
        tyro.conf.arg(
            help="list says which there are and where they stand; fetch "
            "takes one from the cache, the mirror or the network; verify "
            "computes the sha256 of the files that are here, and fails if "
            "one is wrong (a file that is not here is not wrong)."
        ),
    ],
    corpus: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[CORPUS]", help="its name."),
    ] = "all",
) -> None:
    """List the corpora, fetch one, or check its files."""
    infos = download.list_corpora()
    if corpus != "all":
        name = download.find_corpus(corpus).name
        infos = [info for info in infos if info.name == name]
    if action == "verify":
        return _verify(infos)
    for info in infos:
        _describe(info) if action == "list" else _fetch(info)


def _describe(info: download.ManifestEntry) -> None:
    print(f"{info.name}: {info.description}")
    if info.files:
        print(f"    {len(info.files)} files, {info.bytes / 1e6:.1f} MB")
    partly = info.status == "not here" and info.here
    more = f" whole: {info.here} of the files are" if partly else ""
    print(f"    {info.status}{more}")
    print(f"    licence: {info.licence}")


def _fetch(info: download.ManifestEntry) -> None:
    paths = download.fetch(info.name).values()
    if not paths:
        print(f"{info.name}: built in, nothing to fetch")
        return
    folder = os.path.commonpath([path.parent for path in paths])
    size = f"{len(paths)} files, {info.bytes / 1e6:.1f} MB"
    print(f"{info.name}: {size}, in {folder}")


def _verify(infos: list[download.ManifestEntry]) -> None:
    """A line for each corpus, then the sum; an error names what is wrong."""
    wrong: list[str] = []
    right = 0
    for info in infos:
        if info.status == "built in":
            print(f"{info.name}: built in, nothing to verify")
            continue
        count = len(info.files)
        try:
            found = list(download.verify(info.name).values()).count("ok")
            print(f"{info.name}: {found} of {count} files here and right")
            right += found == count
        except CorpusError as error:
            print(f"{info.name}: wrong")
            wrong.append(str(error))
    others = sum(bool(info.files) for info in infos) - right - len(wrong)
    print(
        f"corpora: {right} whole and right, {others} not here or in part, "
        f"{len(wrong)} wrong"
    )
    if wrong:
        raise CorpusError(" ".join(wrong))
