"""How long a word takes from the model to whoever watches, for every preset and mode on every surface.

python3 tasks.py measure live_view                     # everything, in some minutes; prints the page
python3 tasks.py measure live_view --write          # and writes docs/live_view.md
python3 tasks.py measure live_view --only streaming text
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from conformance import live  # noqa: E402 - the tests are no package
from conformance.modes import MODES, PRESETS  # noqa: E402
from conformance.scenarios import QUESTION  # noqa: E402
from server.serving import Client, serving  # noqa: E402
from web.conftest import CHROMIUM  # noqa: E402

PAGE = ROOT / "docs" / "live_view.md"
PATIENCE, LATE = 2.0, 0.1
"""Seconds after which a word is taken to be kept back, and to be late."""
AGAIN = 3
"""How often a run in which a word is late is tried."""
VARIANTS = (*MODES, *PRESETS)
SURFACES = (*live.IN_PROCESS, *live.OVER_HTTP, "page")
KINDS = ("answer", "thought", "tool")
TITLES = {"answer": "The answer", "thought": "Thoughts", "tool": "Output of a tool"}


OBSERVER = """
window.seen = {};
let tell = () => undefined;
window.more = (had) => new Promise((done) => {
    tell = () => {
        const text = document.body?.innerText ?? "";
        for (const word of text.match(/(mist|rain|snow)\\d/g) ?? []) seen[word] ??= Date.now();
        const ended = !!document.querySelector(".turn-foot");
        if (ended || Object.keys(seen).length > had) done([text, Object.keys(seen).length, ended]);
    };
    tell();
    setTimeout(() => done([document.body.innerText, had, true]), 60000);
});
new MutationObserver(() => tell()).observe(document, { subtree: true, childList: true, characterData: true });
"""
"""Notes in the page when a word can first be seen in it, and tells it once: who asked all the time would hold it up."""


class Browser:
    """A page in a browser of its own; it is looked at again and again."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    def watch(self, made: live.Stage, client: Client, name: str) -> live.Shown:
        page = self._browser.new_page(viewport={"width": 1280, "height": 860})
        page.add_init_script(OBSERVER)
        page.goto(client.address)
        page.get_by_label("Message", exact=True).fill(QUESTION)
        page.locator("button.send:enabled").wait_for()
        page.keyboard.press("Enter")
        many, ended = 0, False
        while not ended:
            text, many, ended = page.evaluate("(had) => more(had)", many)
            made.screen.draw(text)
        answer = page.locator(".answer").last.inner_text()
        for word, milliseconds in page.evaluate("window.seen").items():
            if word in made.screen.taken:
                made.screen.taken[word] = max(0.0, milliseconds / 1000 - made.screen.given[word])
        page.close()
        return live.seen(made.screen, answer, made.screen.text.count(live.words(live.ANSWER)))


@contextmanager
def browser() -> Iterator[Browser | None]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield None
        return
    if CHROMIUM is None:
        yield None
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Browser(chromium)
        chromium.close()


def watched(surface: str, variant: str, scenario: str, page: Browser | None) -> live.Shown:
    made = live.staged(surface, variant, scenario, PATIENCE)
    if surface in live.IN_PROCESS:
        return live.IN_PROCESS[surface](made)
    with serving({variant: made.agent}) as client:
        if surface == "page":
            assert page is not None
            return page.watch(made, client, variant)
        return live.OVER_HTTP[surface](made, client, variant)


def longest(shown: live.Shown) -> float:
    return max(shown.taken.values(), default=0.0)


class Figures:
    def __init__(self) -> None:
        self.taken: dict[tuple[str, str, str], float] = {}
        """The longest by kind, surface and variant."""
        self.runs = 0
        self.faults: list[str] = []

    def measure(self, surface: str, variant: str, scenario: str, page: Browser | None) -> None:
        """Play it; again where the machine was busy with something else: the quickest counts."""
        shown = watched(surface, variant, scenario, page)
        for _ in range(AGAIN - 1):
            if longest(shown) > LATE:
                shown = min(shown, watched(surface, variant, scenario, page), key=longest)
        self.runs += 1
        self.faults += live.faults(surface, variant, scenario, shown)
        for kind, seconds in shown.taken.items():
            key = (kind, surface, variant)
            self.taken[key] = max(self.taken.get(key, 0.0), seconds)

    def table(self) -> list[str]:
        rows = [f"| surface | {' | '.join(TITLES.values())} |", f"|---|{'---|' * len(TITLES)}"]
        for surface in SURFACES:
            cells = [summary({variant: self.cell(kind, surface, variant) for variant in VARIANTS}) for kind in KINDS]
            rows.append(f"| {surface} | {' | '.join(cells)} |")
        return rows

    def cell(self, kind: str, surface: str, variant: str) -> str:
        if (seconds := self.taken.get((kind, surface, variant))) is not None:
            return f"{seconds * 1000:.0f}"
        for number, one in enumerate(live.KEPT):
            if kind in one.kinds and surface in one.surfaces and variant in one.variants:
                return "abcdefghijklmnop"[number]
        return "?"


def summary(cells: dict[str, str]) -> str:
    """The range of the figures, then the letters of those that have none."""
    figures = sorted({int(cell) for cell in cells.values() if cell.isdigit()})
    parts = [" to ".join(map(str, dict.fromkeys((figures[0], figures[-1]))))] if figures else []
    return ", ".join([*parts, *sorted({cell for cell in cells.values() if not cell.isdigit()})])


HEAD = """# When words are shown

Milliseconds from the moment in which a model (or a tool) gives a word until it can be seen: the longest in {runs} runs,
measured on {date} on two cores; of three, where one was late, the quickest counts. The goal is 100 ms; the terminal
draws every 50 ms, and the server collects text for 50 ms. A letter says
in which ways of running words are shown when they are complete, and why.

Played in each way: {variants} ([testing](internals/testing.md)). `python3 tasks.py measure live_view --write` writes
this page; `tests/conformance/test_live.py` holds what it says without a clock.
"""


def page_of(figures: Figures) -> str:
    head = HEAD.format(runs=figures.runs, date=time.strftime("%Y-%m-%d"), variants=", ".join(VARIANTS))
    lines = [head, *figures.table(), "", "| letter | ways | why |", "|---|---|---|"]
    for letter, one in zip("abcdefghijklmnop", live.KEPT, strict=False):
        ways = [way for way in VARIANTS if way in one.variants]
        lines.append(f"| {letter} | {'all' if len(ways) == len(VARIANTS) else ', '.join(ways)} | {one.reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/live_view.md")
    parser.add_argument("--only", nargs="+", default=[], help="names of variants, surfaces and scenarios")
    args = parser.parse_args([one for one in sys.argv[1:] if one != "--"])
    os.environ |= {"TERM": "xterm-256color", "TREADLE_STATE": tempfile.mkdtemp(), "TREADLE_CONFIG": ""}
    logging.getLogger("treadle").setLevel(logging.CRITICAL)
    figures = Figures()

    def chosen(names: Any) -> list[str]:
        return [name for name in names if name in args.only] or list(names)

    def play(surfaces: list[str], page: Browser | None) -> None:
        for variant in chosen(VARIANTS):
            for scenario in chosen(live.SCENARIOS) if surfaces else ():
                for surface in surfaces if live.plays(variant, scenario) else ():
                    figures.measure(surface, variant, scenario, page)
            print(f"{variant}: {figures.runs} runs, {len(figures.faults)} faults", file=sys.stderr, flush=True)

    play([name for name in chosen(SURFACES) if name != "page"], None)
    if "page" in chosen(SURFACES):
        with browser() as page:  # while it is open its event loop runs, and nothing else can have one
            if page is not None:
                play(["page"], page)
    text = page_of(figures)
    if args.write and not args.only:
        PAGE.write_text(text, "utf-8")
    print(text)
    late = [f"{' '.join(key)}: {seconds * 1000:.0f} ms" for key, seconds in figures.taken.items() if seconds > LATE]
    print("\n".join([*figures.faults, *late]) or "nothing is late, missing or shown twice", file=sys.stderr)
    return 1 if figures.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
