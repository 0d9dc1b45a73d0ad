"""The program that measures research over HotpotQA's pages, on a few pages of the same form."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from programs import python

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "research_sources.py"
WIKI = {
    "Anna Weber": [
        "Anna Weber (1931 - 2004) was a botanist.",
        " She was born in Graz in 1931.",
        " She wrote 12 books.",
    ],
    "Graz": ["Graz is a city on the Mur.", " Graz has 291,134 inhabitants.", " It was founded in 1128."],
    "Linz": ["Linz is a city on the Danube.", " Linz has 212,538 inhabitants."],
    "Karl Huber": ["Karl Huber was a painter.", " He was born in Linz in 1899.", " He painted the Harbour of Linz."],
}
TASKS = [
    {"question": "How many inhabitants has the city in which Anna Weber was born?", "answer": "291,134"},
    {"question": "On which river is the city in which Karl Huber was born?", "answer": "Danube"},
]


def test_every_citation_that_is_left_supports_its_sentence(tmp_path: Path):
    (tmp_path / "wiki.json").write_text(json.dumps(WIKI), "utf-8")
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS), "utf-8")
    done = subprocess.run([*python(), str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=True)
    told = re.search(r"2 questions by copying: (\d+) sentences, (\d+) cited, (\d+) sentences that their", done.stdout)
    assert told is not None, done.stdout
    assert int(told[1]) > 2
    assert int(told[2]) > 2
    assert int(told[3]) == 0
