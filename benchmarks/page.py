"""How soon something is seen: the terminal's first word, the page's first paint, 10 000 runs, a talk of 5 000 messages.

python benchmarks/page.py [RUNS] [MESSAGES]
"""

from __future__ import annotations

import asyncio
import gzip
import os
import pty
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from overview import fill
from playwright.sync_api import sync_playwright

from treadle import Agent, ScriptedModel, make_server
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import AnswerDone, AnswerStarted, Record, RunFinished, RunStarted

STATIC = Path(__file__).resolve().parents[1] / "src" / "treadle" / "_server" / "static"
ANSWER = "Answer {n} is **here**.\n\n- one\n- two\n\n```python\nprint({n})\n```\n" + "Some more words. " * 20
FRAMES = """async () => {
    const box = document.querySelector(".talk"), frames = [];
    const frame = () => new Promise((go) => requestAnimationFrame(go));
    await frame();
    for (let step = 0; step < 120; step += 1) {
        const before = performance.now();
        box.scrollTop -= 400;
        await frame();
        frames.push(performance.now() - before);
    }
    return frames;
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


async def prepare(path: Path, runs: int, messages: int) -> None:
    journal = SqliteJournal(path)
    await fill(journal, runs)
    for number in range(messages // 2):
        text = ANSWER.format(n=number)
        started = RunStarted(f"Question {number}", agent="demo", conversation="talk")
        events = (started, AnswerStarted("loop"), AnswerDone(text, "loop"), RunFinished("answer", text))
        at = 1_770_000_000.0 + number
        await journal.append([Record(f"talk-{number:06}", seq, at, event) for seq, event in enumerate(events)])
    while (await journal.overview()).pending:
        pass
    await journal.aclose()


def until(page: Any, address: str, selector: str) -> float:
    """Milliseconds until it is there."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address)
    page.locator(selector).first.wait_for(timeout=120_000)
    return 1000 * (time.perf_counter() - began)


def best(times: list[float]) -> str:
    return f"{min(times):8.0f} ms (best of {len(times)}, median {statistics.median(times):.0f})"


def first_word(*arguments: str) -> float:
    """Milliseconds until a command of ours has written something on a terminal."""
    began = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "treadle", *arguments])
    os.read(terminal, 1)
    taken = 1000 * (time.perf_counter() - began)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(terminal)
    return taken


def measure(address: str) -> None:
    for arguments in (("--help",), ("run", "Hi", "-m", "scripted:none.json")):
        print(f"{f'treadle {arguments[0]}: its first word':36} {best([first_word(*arguments) for _ in range(11)])}")
    files = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    print(f"{'weight, compressed':36} {sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1000:8.1f} kB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or "/usr/bin/chromium", args=["--no-sandbox"]
        )
        paints: list[float] = []
        for _ in range(5):
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function(f"() => {PAINT}")
            paints.append(page.evaluate(PAINT))
            page.close()
        print(f"{'first paint':36} {best(paints)}")
        page = browser.new_page()
        for name, place, selector in (
            ("all runs: the list", "runs", ".run"),
            ("all runs: the sums", "runs", ".totals:not(.not-yet)"),
            ("the long talk: its last answer", "c/talk", ".answer"),
        ):
            print(f"{name:36} {best([until(page, f'{address}/#/{place}', selector) for _ in range(5)])}")
        frames = sorted(page.evaluate(FRAMES))
        print(
            f"{'the long talk: a frame, scrolling':36} {frames[60]:8.0f} ms "
            f"(median of 120, 19 of 20 below {frames[114]:.0f})"
        )
        print(f"{'the long talk: elements in the page':36} {page.evaluate('document.querySelectorAll(`*`).length'):8}")
        browser.close()


def main(runs: int, messages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        asyncio.run(prepare(path, runs, messages))
        ready: list[str] = []
        server = make_server({"demo": Agent(ScriptedModel([]), tools=None)}, str(path), port=0, on_ready=ready.append)
        threading.Thread(target=server.run, daemon=True).start()
        while not ready:
            time.sleep(0.05)
        with ThreadPoolExecutor(1) as other:
            other.submit(measure, ready[0]).result()
        server.should_exit = True


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*(given or (10_000, 5_000)))
