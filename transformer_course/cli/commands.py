"""The table of commands.

Each command imports what does its work when it is called, so that help is
fast. ``transformer-course COMMAND --help`` describes the options.
"""

from importlib.metadata import version

from transformer_course.cli.chatting import chat
from transformer_course.cli.classes import classify, fill, similar
from transformer_course.cli.corpora import data
from transformer_course.cli.exporting import export
from transformer_course.cli.options import PROGRAM
from transformer_course.cli.own import check, start, watch
from transformer_course.cli.serving import serve
from transformer_course.cli.texts import (
    generate,
    score,
    score_files,
    translate,
)
from transformer_course.cli.training import train

COMMANDS = {
    "start": start,
    "check": check,
    "watch": watch,
    "train": train,
    "translate": translate,
    "generate": generate,
    "chat": chat,
    "serve": serve,
    "classify": classify,
    "fill": fill,
    "similar": similar,
    "score": score,
    "score-files": score_files,
    "export": export,
    "data": data,
}
"""Commands by name."""
VERSION = f"{PROGRAM} {version(PROGRAM)}"
OPTIONS = {
    "prog": PROGRAM,
    "description": "Train, use and score the course's models. COMMAND --help "
    "describes a command, --version prints the version.",
}
"""Name and description of the program, for tyro."""
