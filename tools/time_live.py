"""How long the page's translators take, beside the package's greedy search.

    python -m tools.time_live            en-ja
    python -m tools.time_live grammar    this one

Both translate the same test sentences and take turns, a sentence each, on one
core, which the browser's other processes share. On a machine that has other
work to do, read the ratio: the milliseconds are too many.
"""

import statistics
import sys
from pathlib import Path
from time import perf_counter

import psutil
import torch

from tools.chromium import find_chromium
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.corpora import load_corpus
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.translate import encode_source

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

PAGE = (
    Path(__file__).parents[1]
    / "_build/en/_build/html/00_watch_it_translate.html"
)
ROUNDS = 5
SENTENCES = 20
TOKENS = 10
ASK = """async ([name, text]) => {
  const model = course.ui.translator(name, "_static/live/models");
  await model.load();
  const [begin, seconds] = [performance.now(), []];
  await model.ask("translate", { text }, () =>
    seconds.push((performance.now() - begin) / 1000));
  return seconds;
}"""


def main(name: str = "en-ja") -> None:
    """Print the time to the first token and to the tenth."""
    program = find_chromium()
    if sync_playwright is None or program is None:
        sys.exit(
            "error: nothing is timed without playwright, which `make "
            "test-live` installs, and a Chromium: install one, or name it by "
            "CHROMIUM="
        )
    loaded = load_shipped(name)
    corpus = loaded.details["corpus"]
    languages = loaded.details["src"], loaded.details["tgt"]
    texts = load_corpus(corpus, *languages).test.src[:SENTENCES]
    psutil.Process().cpu_affinity([psutil.cpu_count() - 1])
    torch.set_num_threads(1)

    def ours(text: str) -> list[float]:
        src = torch.tensor([encode_source(loaded.tokenizer, text)])
        begin, seconds = perf_counter(), []
        greedy_search(
            loaded.model,
            src,
            on_token=lambda _: seconds.append(perf_counter() - begin),
        )
        return seconds

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program)
        page = browser.new_page(reduced_motion="reduce")
        page.goto(PAGE.as_uri())

        def pages(text: str) -> list[float]:
            return page.evaluate(ASK, [name, text])

        for text in texts:
            pages(text), ours(text)  # compiled, and in the cache
        rounds = [[(pages(t), ours(t)) for t in texts] for _ in range(ROUNDS)]
        browser.close()
    print(
        f"{name}, {SENTENCES} sentences, {ROUNDS} rounds, one core; the load "
        f"is {psutil.getloadavg()[0]:.1f}"
    )
    print("                page, ms  package, ms  ratio (rounds)")
    for title, number in (("first token", 1), (f"{TOKENS} tokens", TOKENS)):
        report(title, rounds, number)


def report(title: str, rounds: list, number: int) -> None:
    """Print the median sentence's times to the token of this number."""
    pairs = [
        [pair for pair in one if min(map(len, pair)) >= number]
        for one in rounds
    ]
    at = [
        [[seconds[number - 1] for seconds in pair] for pair in one]
        for one in pairs
    ]
    page, package = (
        1000 * statistics.median(pair[who] for one in at for pair in one)
        for who in (0, 1)
    )
    ratios = [
        sum(pair[0] for pair in one) / sum(pair[1] for pair in one)
        for one in at
    ]
    print(
        f"{title:<14}{page:>10.0f}{package:>13.0f}"
        f"{statistics.median(ratios):>7.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
