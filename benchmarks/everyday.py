"""Eight everyday questions as a newcomer asks them, with the default tools: what `treadle run` says, and in how long.

    python benchmarks/everyday.py [--model local:qwen2.5-coder-1.5b]

They are asked in a folder with three small files. An answer counts when it is right, or declines honestly where nothing
can tell. Without `--model` it is the one that `treadle run` takes by itself.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="")
    options = parser.parse_args()
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
