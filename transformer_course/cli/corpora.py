"""``data``: list, fetch and verify corpora."""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from transformer_course.errors import CorpusError

if TYPE_CHECKING:
    from transformer_course.data.download import ManifestEntry


def data(
    action: Annotated[
        Literal["list", "fetch", "verify"],
        tyro.conf.Positional,
        tyro.conf.arg(
            help="list describes the corpora; fetch downloads one to the "
            "cache, unless the cache or the mirror has it; verify compares "
            "the sha256 of the files that are here."
        ),
    ],
    corpus: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[CORPUS]", help="name of one corpus."),
    ] = "all",
) -> None:
    """List the corpora, fetch one, or verify its files."""
    from transformer_course.data import download
    from transformer_course.data.corpora import CORPORA, find, manifest_entry

    asked = CORPORA.values() if corpus == "all" else [find(corpus)]
    wrong: list[str] = []
    for entry in map(manifest_entry, asked):
        if action == "list":
            print(f"{entry.name}: {entry.description}")
            print(f"    {_size(entry)}")
            print(f"    licence: {entry.licence}")
        elif not entry.files:
            print(f"{entry.name}: built in")
        elif action == "fetch":
            paths = download.fetch(entry.name).values()
            folder = os.path.commonpath([path.parent for path in paths])
            print(f"{entry.name}: {_size(entry)}, in {folder}")
        else:
            found = [file.status for file in entry.files]
            print(
                f"{entry.name}: {found.count('ok')} ok, "
                f"{found.count('missing')} missing, "
                f"{found.count('damaged')} damaged"
            )
            files = zip(entry.files, found, strict=True)
            wrong += [str(file.path) for file, s in files if s == "damaged"]
    if wrong:
        raise CorpusError(
            f"wrong sha256: {', '.join(wrong)}. Delete what is damaged and "
            "fetch the corpus again."
        )


def _size(entry: "ManifestEntry") -> str:
    if not entry.files:
        return "built in"
    megabytes = f"{entry.bytes / 1e6:.1f} MB"
    return f"{len(entry.files)} files, {megabytes}, {entry.n_here} here"
