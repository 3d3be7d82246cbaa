"""What a page of the built book weighs, and how soon it shows something.

``python -m tools.page_weight index 04_attention`` serves the built book with
gzip, and opens each page in Chromium with an empty cache, on a line of
1.6 Mbit/s with 150 ms of latency and a processor four times slower: a cheap
phone. Times depend on the machine and on what else it does; bytes do not.

Needs Playwright for Python and a Chromium (``CHROMIUM=`` or one on the path).
"""

import argparse
import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tools.chromium import find_chromium

SITE = Path(__file__).resolve().parent.parent / "_build/en/_build/html"
PAGES = ("index", "01_sequence_to_sequence", "04_attention", "12_training")
WIDTHS = {1280: 800, 390: 844}
SLOWER = 4
LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
WATCH = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) {
    if (!shift.hadRecentInput) window.shifts.push([
      shift.startTime,
      shift.value,
      shift.sources.map(({ node }) => node?.outerHTML?.slice(0, 60) ?? ""),
    ]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
READ = """
() => {
  const loaded = [
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource"),
  ];
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const sum = (some, size) => some.reduce((all, one) => all + one[size], 0);
  const before = loaded.filter((one) => one.responseEnd <= paint.startTime);
  return {
    bytes: sum(loaded, "decodedBodySize"),
    zipped: sum(loaded, "encodedBodySize"),
    before: sum(before, "encodedBodySize"),
    paint: paint.startTime / 1000,
    shifts: window.shifts,
  };
}
"""


class Zipped(SimpleHTTPRequestHandler):
    """Serves files as a common server does, text with gzip."""

    def do_GET(self) -> None:
        """Answer with a file, zipped if that makes it smaller."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix in (".html", ".css", ".js", ".svg"):
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing of each request."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder while it is served."""
    handler = partial(Zipped, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def measure(browser: Any, address: str, width: int) -> dict[str, Any]:
    """Open a page as on a cheap phone, and read what the browser noted."""
    size = {"width": width, "height": WIDTHS[width]}
    context = browser.new_context(viewport=size)
    page = context.new_page()
    client = context.new_cdp_session(page)
    client.send("Network.enable")
    client.send("Network.emulateNetworkConditions", LINE)
    client.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.add_init_script(WATCH)
    page.goto(address, wait_until="load", timeout=120_000)
    page.evaluate("window.MathJax?.startup?.promise")
    page.wait_for_timeout(1000)
    found = page.evaluate(READ)
    context.close()
    return found


def layout_shift(shifts: list[list]) -> float:
    """The largest sum of shifts in a window, as browsers report it.

    A window ends after a second without one, and after five.
    """
    windows: list[list[list]] = []
    for shift in shifts:
        last = windows[-1] if windows else None
        if (
            last
            and shift[0] - last[-1][0] < 1000
            and shift[0] - last[0][0] < 5000
        ):
            last.append(shift)
        else:
            windows.append([shift])
    return max((sum(one[1] for one in some) for some in windows), default=0.0)


def main() -> None:
    """Measure pages, and print a line for each and each width."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument(
        "--shifts", action="store_true", help="name what moved"
    )
    args = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("error: this needs Playwright: pip install playwright")
    print(f"{'page':24} width   kB  gzip  before paint  paint  shift")
    with sync_playwright() as library, served(args.site) as address:
        browser = library.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox"]
        )
        for name in args.pages:
            for width in WIDTHS:
                found = measure(browser, f"{address}/{name}.html", width)
                print(
                    f"{name:24} {width:5} {found['bytes'] / 1e3:4.0f}"
                    f" {found['zipped'] / 1e3:5.0f}"
                    f" {found['before'] / 1e3:13.0f}"
                    f" {found['paint']:4.1f} s"
                    f" {layout_shift(found['shifts']):6.2f}",
                    flush=True,
                )
                for when, value, what in (
                    found["shifts"] if args.shifts else ()
                ):
                    print(f"    {when / 1000:.1f} s {value:.3f} {what}")
        browser.close()


if __name__ == "__main__":
    main()
