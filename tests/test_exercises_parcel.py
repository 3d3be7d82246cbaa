"""A learner's code reaches the process of its check, however it was made."""

import builtins
import sys
from types import ModuleType

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course_exercises.check import name_of
from course_exercises.parcel import pack, unpack

IMPORTS = "import functools, torch"
DEF = "def causal_mask(length):\n    "
RIGHT = f"{DEF}return torch.ones(length, length).tril().bool()[None, None]"
LOW = "def low(n):\n    return torch.ones(n, n).tril().bool()[None, None]"
USE = f"{DEF}return low(length)"
WRONG = "torch.ones(length, length).triu().bool()[None, None]"
IPYTHON = {
    "help below": f"{RIGHT}\ntorch.tril?",
    "source below": f"{RIGHT}\ntorch.nn.MultiheadAttention??",
    "help in front": f"?torch.tril\n{RIGHT}",
    "a shell's answer": f"files = !true\n{RIGHT}",
    "the shell by a magic": f"files = %sx true\n{RIGHT}",
    "the shell inside": f"{DEF}!true\n    return {WRONG.replace('iu', 'il')}",
    "a line magic": f"{RIGHT}\n%timeit -n1 -r1 causal_mask(2)",
    "a cell magic": f"%%time\n{RIGHT}",
    "await": f"import asyncio\nawait asyncio.sleep(0)\n{RIGHT}",
}
HELPERS = {
    "a loop": """OPS = {}
for name in ('tril', 'triu'):
    OPS[name] = getattr(torch, name)
#
def causal_mask(length):
    return OPS['tril'](torch.ones(length, length)).bool()[None, None]""",
    "augmented in another cell": """AXES = (None,)
#
AXES += (None,)
#
def causal_mask(length):
    return torch.ones(length, length).tril().bool()[AXES]""",
    "setattr on their own": f"""class Parts: pass
#
{LOW}
setattr(Parts, 'low', staticmethod(low))
#
{DEF}return Parts.low(length)""",
    "setattr on ours": f"""torch.Tensor.low = lambda x: x.tril()
#
{DEF}ones = torch.ones(length, length)
    ones = ones.low() if hasattr(ones, 'low') else ones.triu()
    return ones.bool()[None, None]""",
    "a builtin": f"""{LOW}
import builtins
builtins.low = low
del low
#
{USE}""",
    "globals, named": f"""{LOW}
globals()['of_' + '3'] = low
#
{DEF}return of_3(length)""",
    "globals, looked up": f"""DIAGONAL = 0
#
{DEF}diagonal = globals().get('DIAGONAL', -1)
    return torch.ones(length, length).tril(diagonal).bool()[None, None]""",
    "eval": f"{LOW}\n#\n{DEF}return eval('low')(length)",
    "exec": f"exec({LOW!r})\n#\n{USE}",
    "the main module": f"""{LOW}
#
{DEF}try:
        from __main__ import low
    except ImportError:
        return {WRONG}
    return low(length)""",
    "a decorator": f"""def shaped(function):
    def made(length):
        return function(length)[None, None]
    return made
#
@shaped
{DEF}return torch.ones(length, length).tril().bool()""",
    "partial": f"low = functools.partial(torch.tril, diagonal=0)\n#\n{DEF}"
    "return low(torch.ones(length, length)).bool()[None, None]",
    "cache": f"@functools.cache\n{LOW}\n#\n{USE}",
    "lru_cache": f"@functools.lru_cache(maxsize=2)\n{LOW}\n#\n{USE}",
    "a cache that calls itself": f"""@functools.cache
def half(n):
    return half(n - 1) if n else 0
#
{DEF}ones = torch.ones(length, length)
    return ones.tril(half(3)).bool()[None, None]""",
    "cached_property": f"""class Low:
    @functools.cached_property
    def diagonal(self):
        return 0
#
{DEF}ones = torch.ones(length, length)
    return ones.tril(Low().diagonal).bool()[None, None]""",
    "singledispatch": f"@functools.singledispatch\n{LOW}\n#\n{USE}",
    "a lock": f"""import threading
lock = threading.Lock()
#
{DEF}with lock:
        return torch.ones(length, length).tril().bool()[None, None]""",
    "a registry": f"""class Base:
    known = {{}}
    def __init_subclass__(cls):
        Base.known[cls.__name__] = cls
#
class Low(Base):
    {LOW.replace("low(n", "low(self, n").replace(chr(10), chr(10) + "    ")}
#
{DEF}return Base.known['Low']().low(length)""",
}
UNDER_ITS_NAME = {
    "a partial": f"{LOW}\ncausal_mask = functools.partial(low)",
    "a lambda": "causal_mask = lambda n: "
    "torch.ones(n, n).tril().bool()[None, None]",
    "a cached function": f"@functools.cache\n{RIGHT}",
    "an object that can be called": """class Mask:
    def __call__(self, length):
        return torch.ones(length, length).tril().bool()[None, None]
causal_mask = Mask()""",
}
UNTAKEN = {
    "log": f"log = open('log', 'w')\n#\n{DEF}log.write('')\n    return 3",
    "numbers": f"numbers = iter(n for n in [1])\n#\n{DEF}return next(numbers)",
    "files": f"files = [open('log', 'w')]\n#\n"
    f"def write():\n    files[0].write('')\n#\n{DEF}return write()",
    "kept": f"kept = open('log', 'w')\n#\n{DEF}return eval('kept')",
}


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """Run cells; return the answer, as it is in the notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    shell = InteractiveShell(
        config=Config({"HistoryManager": {"enabled": False}}),
        user_module=sys.modules["__main__"],
    )

    def run(text):
        for cell in (IMPORTS, *text.split("\n#\n")):
            shell.run_cell(cell).raise_error()
        return sys.modules["__main__"].causal_mask

    yield run
    forget()
    InteractiveShell.clear_instance()


def forget():
    """Remove what a learner has set on what is not the learner's."""
    for owner in (torch.Tensor, builtins):
        if hasattr(owner, "low"):
            delattr(owner, "low")


@pytest.mark.parametrize("text", IPYTHON.values(), ids=IPYTHON)
def test_cells_are_ipython_s(notebook, text):
    assert_right(pack(notebook(text)))


@pytest.mark.parametrize("text", HELPERS.values(), ids=HELPERS)
def test_helpers_come_along_however_they_were_made(notebook, text):
    assert_right(pack(notebook(text)))


def test_a_compiled_helper_comes_along_uncompiled(notebook):
    """As ``torch.compile`` marks it, which takes seconds to import."""
    mark = "low._torchdynamo_orig_callable = low"
    wrap = "low = functools.wraps(low)(lambda n, log=open('log', 'w'): 0)"
    text = f"{LOW}\nplain = low\n{wrap}\n{mark.replace('= low', '= plain')}"
    assert_right(pack(notebook(f"{text}\n#\n{USE}")))


@pytest.mark.parametrize("text", UNDER_ITS_NAME.values(), ids=UNDER_ITS_NAME)
def test_the_notebook_s_name_counts_not_that_of_def(notebook, text):
    answer = notebook(text)
    assert name_of(answer) == "causal_mask"
    assert_right(pack(answer))


@pytest.mark.parametrize("name", UNTAKEN)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_cannot_be_taken_is_named(notebook, name):
    parcel = pack(notebook(UNTAKEN[name]))
    assert parcel.left_out.keys() == {name}
    unpack(parcel.content)


def test_the_process_of_the_check_lends_its_own_names_to_nobody(notebook):
    answer = notebook(f"{RIGHT}\n#\ndel torch")
    with pytest.raises(NameError):
        unpack(pack(answer).content)(2)


def assert_right(parcel):
    assert not parcel.left_out
    forget()
    length = 3
    expected = torch.ones(length, length).tril().bool()[None, None]
    assert torch.equal(unpack(parcel.content)(length), expected)
