"""How long what reads text from outside takes for hostile texts of 10 000 to 80 000 characters, as a table.

    python benchmarks/readers.py      # a minute; one row for each reader, with the text that it is slowest for

The readers and their texts are those of the test (`tests/safety/readers.py`); the last row is the worst pattern.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import treadle

growth: Any = import_module("safety.growth")
readers: Any = import_module("safety.readers")

SIZES = (10_000, 20_000, 40_000, 80_000)
Case = tuple[Callable[[Any], object], Callable[[int], Any]]


def slowest(cases: Iterable[Case]) -> tuple[str, list[float]]:
    """The text that takes longest at the second size, and the seconds at each size."""
    read, make = max(cases, key=lambda case: growth.seconds(case[0], case[1](SIZES[1])))
    return repr(make(16))[:24], [min(growth.seconds(read, make(size)) for _ in range(3)) for size in SIZES]


def row(name: str, cases: Iterable[Case]) -> str:
    text, times = slowest(cases)
    doubling = (times[-1] / times[0]) ** (1 / 3) if times[0] > 0.000_5 else 0.0
    shown = " | ".join(f"{one * 1000:.1f}" for one in times)
    return f"| {name} | `{text}` | {shown} | {f'{doubling:.1f}' if doubling else '-'} |"


def main() -> None:
    print("| reader | slowest text | 10k, ms | 20k | 40k | 80k | times per doubling |\n|---|---|---|---|---|---|---|")
    for name, (read, makers) in readers.READERS.items():
        print(row(name, [(read, make) for make in makers]), flush=True)
    uses = growth.patterns_in(Path(treadle.__file__).parent).uses
    cases = [(use.reader(), make) for use in uses for make in growth.texts_for(use)]
    print(row(f"the slowest of {len(uses)} patterns", cases))


if __name__ == "__main__":
    main()
