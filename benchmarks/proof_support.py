"""How well `treadle runs proof` finds sentences that were planted in an answer and rest on nothing.

    python benchmarks/proof_support.py FOLDER     # with wiki.json: the sentences of each page by its title

For each page, the log is a run that has read it (among some others). True sentences are those of the page: as they are,
with words left out, and with words in another order. Planted are those of another page, and those of the page with
another number, another name, or a denial.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from pathlib import Path

from treadle._plugins.evidence.support import claims_of
from treadle._plugins.evidence.words import words_of
from treadle._types.events import Record, RunStarted, ToolDone

PAGES, OTHERS = 150, 4
_VERB = re.compile(r"\b(is|was|were|are|has|had)\b")


def log_of(question: str, pages: list[str]) -> dict[str, list[Record]]:
    events = [RunStarted(question), *(ToolDone(f"c{n}", "search", n, text) for n, text in enumerate(pages, 1))]
    return {"r": [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]}


def variants(sentence: str, other: str, rng: random.Random) -> dict[str, str]:
    """The sentence in ways that keep it true, and in ways that do not."""
    words = sentence.rstrip(".").split()
    found = {"true: as it stands": sentence, "planted: of another page": other}
    if len(words) > 8:
        dropped = rng.sample(range(1, len(words) - 1), k=len(words) // 6)
        found["true: words left out"] = " ".join(w for n, w in enumerate(words) if n not in dropped) + "."
        half = len(words) // 2
        found["true: halves exchanged"] = " ".join((*words[half:], *words[:half])) + "."
    if numbers := re.findall(r"\b\d{2,}\b", sentence):
        number = rng.choice(numbers)
        found["planted: another number"] = sentence.replace(number, str(int(number) + rng.choice((1, 7, 13))), 1)
    names, strange = words_of(sentence).names, [n for n in words_of(other).names if n not in sentence]
    names = [name for name in names if name.isalpha()]
    if names and strange:
        found["planted: another name"] = sentence.replace(rng.choice(names), rng.choice(strange), 1)
    if _VERB.search(sentence) and not words_of(sentence).negated:
        found["planted: a denial"] = _VERB.sub(r"\1 not", sentence, count=1)
    return found


def main(folder: str) -> None:
    wiki: dict[str, list[str]] = json.loads((Path(folder) / "wiki.json").read_text("utf-8"))
    rng = random.Random(7)
    titles = [title for title in sorted(wiki) if len(wiki[title]) >= 2]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for title in rng.sample(titles, k=min(PAGES, len(titles))):
        others = rng.sample([other for other in titles if other != title], k=OTHERS + 1)
        logs = log_of(f"What is {title}?", [" ".join(wiki[name]) for name in (title, *others[:OTHERS])])
        sentence = rng.choice(wiki[title]).strip()
        strange = rng.choice(wiki[others[-1]]).strip()
        for kind, text in variants(sentence, strange, rng).items():
            marked = any(claim.status in ("unsupported", "contradicted") for claim in claims_of(text, logs))
            counts[kind][0] += marked
            counts[kind][1] += 1
    for kind in sorted(counts):
        marked, total = counts[kind]
        print(f"{kind:28} {marked:4} of {total:4} marked ({marked / total:.0%})")
    for group in ("planted", "true"):
        marked = sum(counts[kind][0] for kind in counts if kind.startswith(group))
        total = sum(counts[kind][1] for kind in counts if kind.startswith(group))
        print(f"{group + ', all':28} {marked:4} of {total:4} marked ({marked / total:.0%})")


if __name__ == "__main__":
    main(sys.argv[1])
