"""The film of attention as a video for slides, with captions.

``python -m tools.film`` opens the projector's page of the built book in
Chromium, moves the film's bar from frame to frame, and writes
``_build/figures/attention.mp4``. The captions in English are what the page
says of each scene; ``tools/film.yml`` has them in Japanese.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from tools.book_pdf import browser_page
from tools.edition import ROOT
from transformer_course.errors import CourseError

try:
    from imageio_ffmpeg import get_ffmpeg_exe
except ImportError as error:
    sys.exit(
        f"error: a video needs {error.name}, which is not installed: "
        "`make figures` installs it"
    )

SITE = ROOT / "_build/en/_build/html"
FOLDER = Path("_build/figures")
JAPANESE = Path(__file__).with_suffix(".yml")
FRAMES = 30
"""In a second."""
MOVE, HOLD = 2.4, 3.3
"""Seconds in which a scene is made, and for which it stands still."""
SIZE = {"width": 1280, "height": 720}
STYLE = """
html { font-size: 24px !important; overflow: hidden; }
.lv.only { position: fixed; inset: 0; z-index: 9999; padding: 14px 48px;
  margin: 0; background: var(--course-paper); }
.only .lv-app { display: block; }
.only :is(.lv-choose, .lv-status, [data-film="of"]) { display: none; }
.only .lv-screen { border: 0; }
.only .lv-scene { justify-content: center; font-size: 1.4rem; }
.only .lv-product { margin: 0; font-size: 1.3rem; }
"""
"""Letters for a room, nothing to press, and room below for captions."""
TO = """([bar, time]) => {
  bar.value = time;
  bar.dispatchEvent(new Event("input"));
}"""


def open_film(page: Any, site: Path) -> Any:
    """The film of the projector's page alone; its bar.

    Raises:
        CourseError: the book is not built.
    """
    file = site / "projector.html"
    if not file.is_file():
        raise CourseError(f"{file} is not there: build the book (`make book`)")
    page.set_viewport_size(SIZE)
    page.goto(file.as_uri())
    name = page.locator("[data-live=film]").get_attribute("id")
    page.goto(f"{file.as_uri()}?only={name}")
    page.add_style_tag(content=STYLE)
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(500)  # the drawing follows the new size
    return page.query_selector("[data-live=film] input[data-still]")


def frames(page: Any, bar: Any, scenes: int) -> Iterator[bytes]:
    """All frames as JPEG."""

    def frame(time: float) -> bytes:
        page.evaluate(TO, [bar, time])
        return page.screenshot(type="jpeg", quality=95)

    moving, still = round(MOVE * FRAMES), round(HOLD * FRAMES)
    for scene in range(scenes):
        for step in range(1, moving) if scene else ():
            yield frame(scene - 1 + step / moving)
        yield from repeat(frame(scene), still + bool(scene))


def encode(pictures: Iterator[bytes], target: Path) -> None:
    """Write pictures as an H.264 video, which slides can show."""
    command = [get_ffmpeg_exe(), "-y", "-loglevel", "error"]
    command += ["-f", "image2pipe", "-c:v", "mjpeg", "-framerate", f"{FRAMES}"]
    command += ["-i", "-", "-c:v", "libx264", "-crf", "18"]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as ffmpeg:
        for picture in pictures:
            ffmpeg.stdin.write(picture)
        ffmpeg.stdin.close()
    if ffmpeg.returncode:
        raise CourseError(f"ffmpeg could not write {target}: see above")


def said(page: Any, bar: Any, scenes: int) -> list[str]:
    """What the page says of each scene."""
    found = []
    for scene in range(scenes):
        page.evaluate(TO, [bar, scene])
        found.append(
            page.locator("[data-live=film] .lv-status").text_content()
        )
    return found


def numbers(text: str) -> list[str]:
    """The numbers in a text, in the order of their size."""
    return sorted(re.findall(r"\d+(?:\.\d+)?", text))


def japanese(english: list[str]) -> list[str]:
    """The same captions in Japanese.

    Raises:
        CourseError: a caption is missing, or has other numbers.
    """
    found = yaml.safe_load(JAPANESE.read_text("utf-8"))
    if len(found) != len(english):
        raise CourseError(
            f"{JAPANESE} has {len(found)} captions, and the film has "
            f"{len(english)} scenes: write one for each"
        )
    for text, other in zip(english, found, strict=True):
        if numbers(text) != numbers(other):
            raise CourseError(
                f"{JAPANESE}: the numbers of {other!r} are not those of "
                f"{text!r}: correct them"
            )
    return found


def captions(texts: list[str]) -> str:
    """Captions as WebVTT, one for each scene."""
    ends = [HOLD + scene * (MOVE + HOLD) for scene in range(len(texts))]
    cues = [
        f"{stamp(start)} --> {stamp(end)}\n{text}\n"
        for start, end, text in zip([0.0, *ends], ends, texts, strict=False)
    ]
    return "\n".join(["WEBVTT\n", *cues])


def stamp(seconds: float) -> str:
    """A time as WebVTT has it: 00:05.700."""
    return f"{int(seconds // 60):02}:{seconds % 60:06.3f}"


def main() -> None:
    """Write the video and its captions."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with browser_page() as page:
        bar = open_film(page, SITE)
        scenes = int(bar.get_attribute("max")) + 1
        english = said(page, bar, scenes)
        for language, texts in ("en", english), ("ja", japanese(english)):
            file = FOLDER / f"attention.{language}.vtt"
            file.write_text(captions(texts), "utf-8")
        total = round(FRAMES * (scenes * (MOVE + HOLD) - MOVE))
        pictures = tqdm(frames(page, bar, scenes), total=total, unit="frame")
        encode(pictures, FOLDER / "attention.mp4")
    print(f"attention.mp4, with captions in two languages: {FOLDER}")


if __name__ == "__main__":
    main()
