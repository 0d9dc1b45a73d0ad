"""Eight everyday questions as a newcomer asks them, with the default tools: what `treadle run` says, and in how long.

    python benchmarks/everyday.py [--model local:qwen2.5-coder-1.5b]
    python benchmarks/everyday.py --summaries PAGES.json [--count 20] [--seed 7] [--first 1 --last 7]

They are asked in a folder with three small files. An answer counts when it is right, or declines honestly where nothing
can tell. Without `--model` it is the one that `treadle run` takes by itself.

With `--summaries` it is asked for summaries of pages (a JSON object of titles and texts, or a list of objects with
`title` and `text`), drawn with the seed: two sentences, or three bullet points. One counts that has at most as many,
is no copy (the longest run of words that stand in the page just so is under half of it), and is about the page (most
of its longer words stand there).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

FILES = {
    "README.md": "# Kite\n\nKite is a small program that renames photos by the day on which they were taken. It reads "
    "the date from each file, makes a folder for every month, and never deletes anything.\n\n"
    "Run `kite FOLDER` to see what would happen, and `kite FOLDER --apply` to do it.\n",
    "photos.csv": "name,taken\n" + "".join(f"img_{n}.jpg,2026-03-{n:02d}\n" for n in range(1, 29)),
    "notes.txt": "ask Ida about the second camera\n",
}


class Asked(NamedTuple):
    question: str
    right: str
    """A pattern of a right answer, or of one that declines."""


QUESTIONS = (
    Asked("What is 15% of 240?", r"\b36\b"),
    Asked("What day is 2026-12-25?", r"(?i)friday"),
    Asked("List the files here and tell me which is largest", r"(?is)photos\.csv"),
    Asked("Summarise README.md in two sentences", r"(?is)(?=.*photo)(?=.*(?:date|day|month|folder))"),
    Asked("Hi, what can you do?", r"(?i)calculat|arithmetic|files|date"),
    Asked("Capital of Australia, and 15% of 240?", r"(?s)(?=.*Canberra)(?=.*\b36\b)"),
    Asked("Convert 10 miles to km", r"\b16(?:[.,]\d+)?\b"),
    Asked(
        "What is the weather in Oslo?", r"(?i)cannot|can't|can not|no tool|none of|unable|not able|don't have|no access"
    ),
)


def ask(question: str, folder: Path, model: str) -> tuple[str, float]:
    command = [sys.executable, "-m", "treadle", "run", "--quiet", "--journal", "none"]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, *(["--model", model] if model else []), question], cwd=folder, capture_output=True, text=True
    )
    return done.stdout.strip() or done.stderr.strip()[-200:], time.monotonic() - begun


WAYS = (("Summarise {} in two sentences", 2), ("Summarise {} in three bullet points", 3))
LONGER = 5
"""Letters of a word that says what a text is about."""


def pages_in(path: Path) -> list[tuple[str, str]]:
    data: Any = json.loads(path.read_text("utf-8"))
    rows: Any = data.items() if hasattr(data, "items") else [(row["title"], row["text"]) for row in data]
    texts = [(str(title), text if isinstance(text, str) else " ".join(text)) for title, text in rows]
    return [(title, text) for title, text in texts if 600 <= len(text) <= 3000]


def fault_of(answer: str, page: str, parts: int) -> str:
    """What is wrong with a summary; empty: nothing."""
    words, source = (re.findall(r"\w+", text.lower()) for text in (answer, page))
    told = [line for line in re.split(r"(?<=[.!?])\s+(?=[A-Z*-])|\n+", answer.strip()) if re.search(r"\w", line)]
    copied = SequenceMatcher(None, words, source, autojunk=False).find_longest_match().size
    telling = [word for word in words if len(word) >= LONGER]
    if len(words) < 8:
        return "hardly a word"
    if len(told) > parts + 1:  # one line may introduce the others
        return f"{len(told)} sentences"
    if copied > 0.5 * len(words) and copied > 20:
        return f"{copied} of {len(words)} words in a row are copied"
    if sum(word in source for word in telling) < 0.5 * len(telling):
        return "about something else"
    return ""


def summaries(pages: Path, drawn: int, seed: int, model: str, first: int, last: int | None) -> None:
    right = 0
    chosen = list(enumerate(random.Random(seed).sample(pages_in(pages), drawn), 1))[first - 1 : last]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (title, text) in chosen:
            (folder / "page.txt").write_text(f"{title}\n\n{text}\n")
            question, parts = WAYS[number % len(WAYS)]
            answer, seconds = ask(question.format("page.txt"), folder, model)
            fault = fault_of(answer, text, parts)
            right += not fault
            print(f"{number}: {fault or 'right'}, {seconds:.1f} s, {title}\n    {answer}", flush=True)
    print(f"{right} of {len(chosen)} (seed {seed})")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="")
    parser.add_argument("--summaries", type=Path, metavar="PAGES.json")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--first", type=int, default=1, help="of those drawn, to ask in pieces")
    parser.add_argument("--last", type=int, default=None)
    options = parser.parse_args()
    if options.summaries:
        summaries(options.summaries, options.count, options.seed, options.model, options.first, options.last)
        return
    right = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        for asked in QUESTIONS:
            answer, seconds = ask(asked.question, folder, options.model)
            passed = re.search(asked.right, answer) is not None
            right += passed
            print(
                f"{'right' if passed else 'WRONG'} {seconds:5.1f} s  {asked.question}\n    {answer[:300]}", flush=True
            )
    print(f"{right} of {len(QUESTIONS)}")


if __name__ == "__main__":
    main()
