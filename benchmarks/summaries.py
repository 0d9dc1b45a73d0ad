"""Is a summary a summary? Each file of a folder, asked for with `treadle run`: in two sentences, in three points.

    python benchmarks/summaries.py FOLDER [--model local:qwen2.5-coder-1.5b] [--first 1 --last 7]

The files take turns with the two forms. A summary counts when it is at most 60 words or 45 % of the file, has the form
that was asked for (one line may introduce the points), repeats at most twelve words in a row, and has three longer
words of the file at least. Whether it is true is for a reader: each answer is printed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from everyday import ask

FORMS = (("two sentences", 2), ("three bullet points", 3))
SHORT, PART, IN_A_ROW = 60, 0.45, 12
"""Words that any summary may have, the part of a file that it may have, and how many words of it one after another."""
LONGER = 5
"""Letters of a word that says what a text is about."""
_POINT = re.compile(r"\s*(?:[-*+\u2022]|\d+[.)])\s+\S")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=\W*[A-Z\u00c4\u00d6\u00dc\d])|\n+")


def faults_of(answer: str, text: str, form: str, parts: int) -> list[str]:
    """What is wrong with a summary, as far as its form tells."""
    words, source = (re.findall(r"\w+", part.lower()) for part in (answer, text))
    if len(words) < 8:
        return ["hardly a word"]
    found = []
    if len(words) > max(SHORT, PART * len(source)):
        found.append(f"{len(words)} words about {len(source)}")
    lines = [line for line in answer.splitlines() if line.strip()]
    if "bullet" in form:
        told = sum(_POINT.match(line) is not None for line in lines)
        wrong = told != parts or len(lines) > parts + 1
    else:
        told = sum(re.search(r"\w", one) is not None for one in _SENTENCE_END.split(answer.strip()))
        wrong = told != parts
    if wrong:
        found.append(f"{told} parts in {len(lines)} lines")
    copied = SequenceMatcher(None, words, source, autojunk=False).find_longest_match().size
    if copied > IN_A_ROW:
        found.append(f"{copied} words in a row are copied")
    if len({word for word in words if len(word) >= LONGER} & set(source)) < 3:
        found.append("about something else")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="", help="without it the one that `treadle run` takes by itself")
    parser.add_argument("--first", type=int, default=1, help="of the files by name, to ask in pieces")
    parser.add_argument("--last", type=int, default=None)
    options = parser.parse_args()
    chosen = list(enumerate(sorted(options.folder.iterdir()), 1))[options.first - 1 : options.last]
    right = 0
    with tempfile.TemporaryDirectory() as name:
        for number, path in chosen:
            copy = Path(shutil.copy(path, name))
            form, parts = FORMS[number % len(FORMS)]
            answer, seconds = ask(f"Summarise {copy.name} in {form}.", Path(name), options.model)
            found = faults_of(answer, copy.read_text("utf-8"), form, parts)
            copy.unlink()
            right += not found
            print(f"{number}: {'; '.join(found) or 'right'}, {seconds:.0f} s, {path.name}, {form}", flush=True)
            print("    " + answer.replace("\n", "\n    "), flush=True)
    print(f"{right} of {len(chosen)}")


if __name__ == "__main__":
    main()
