"""Measures which lines and branches of each package the suite reaches, and holds each package to a floor.

`python3 tasks.py test` sets `TREADLE_COVERAGE` to a folder. Each process that runs tests then instruments the package
as it is imported (`slipcover`: bytecode before Python 3.12, `sys.monitoring` from there on; a line costs nothing once
it was reached) and writes there what it saw; processes that the tests start are not measured.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path, PurePath
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src" / "treadle"
VARIABLE = "TREADLE_COVERAGE"
FLOORS = {
    "_agent": 95,
    "_cli": 76,
    "_config": 90,
    "_dialects": 96,
    "_durable": 88,
    "_engine": 95,
    "_flows": 97,
    "_inspect": 96,
    "_interop": 34,
    "_journal": 95,
    "_local": 92,
    "_models": 97,
    "_plugins": 97,
    "_record": 92,
    "_safety": 98,
    "_server": 94,
    "_testing": 85,
    "_tools": 90,
    "_types": 99,
    "_view": 98,
    "_workspace": 91,
}
"""Percent of statements and branches together. Raise a floor when its figure is well above it; never lower one.

What only processes of their own reach does not count (a fifth of `_cli`); other engines (`_interop`) are in none of the
processes that are measured."""
WORST_SHOWN = 5


@dataclass(slots=True)
class Package:
    covered: int = 0
    total: int = 0
    missing: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0


@cache
def measure(folder: Path) -> Any:
    """Instrument the package from here on; the returned function writes what was reached into `folder`. Once in a
    process: a test that imports `conftest` again would else count what is imported after it elsewhere."""
    from slipcover import Slipcover, slipcover
    from slipcover.importer import SlipcoverLoader

    # Half the time of instrumenting goes into finding the lines that are nothing but annotations; they run as well.
    setattr(slipcover, "_get_annotation_only_lines", lambda code: frozenset[int]())  # noqa: B010
    # To take out what was reached, it goes through all functions that there are: a fifth of a second each time.
    cover = Slipcover(branch=True, d_miss_threshold=5_000, source=[str(SOURCE)])

    class Instrument(MetaPathFinder):
        def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
            spec = PathFinder.find_spec(fullname, path, target) if fullname.split(".")[0] == SOURCE.name else None
            if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin is not None:
                spec.loader = SlipcoverLoader(cover, spec.loader, spec.origin)
            return spec

    # First of all finders: pytest's own would rewrite the assertions of a package that brings a plug-in for it.
    sys.meta_path.insert(0, Instrument())

    def write(*, in_worker: bool = False) -> None:
        if in_worker:
            cover.source = None  # the process that it was forked from reads the files that were never imported
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{os.getpid()}.json").write_text(json.dumps(cover.get_coverage()))

    return write


def packages_of(report: dict[str, Any]) -> dict[str, Package]:
    """Sum a report per top-level folder of the package."""
    packages: dict[str, Package] = defaultdict(Package)
    for path, entry in report["files"].items():
        parts = PurePath(path).parts
        below = parts[parts.index("treadle") + 1 :]
        # Modules that only hand out names, imported before anything can be instrumented.
        if len(below) == 1 or not below[0].startswith("_"):
            continue
        package = packages[below[0]]
        summary = entry["summary"]
        covered = summary["covered_lines"] + summary["covered_branches"]
        missing = summary["missing_lines"] + summary["missing_branches"]
        package.total += covered + missing
        package.covered += covered
        package.missing.append((missing, "/".join(below)))
    return dict(packages)


def verdict(packages: dict[str, Package], floors: dict[str, int]) -> tuple[list[str], list[str]]:
    """Return the table to show, and one line for each package that is below its floor."""
    table: list[str] = []
    failures: list[str] = []
    for name, package in sorted(packages.items()):
        floor = floors.get(name, 100)  # a new package says its floor
        # Cut, not rounded: 89.96 % must not be shown as 90.0 % and then fail.
        shown = f"{int(package.percent * 10) / 10:5.1f} %"
        table.append(f"  {name:<12} {shown}   floor {floor} %   {package.total} lines and branches")
        if package.percent < floor:
            worst = [
                f"{path} ({count})" for count, path in sorted(package.missing, reverse=True)[:WORST_SHOWN] if count
            ]
            failures.append(
                f"coverage: {name} is at {shown.strip()}, its floor is {floor} %; most is missing in {', '.join(worst)}"
            )
    failures += [f"coverage: nothing was measured in {name}" for name in sorted(floors.keys() - packages.keys())]
    return table, failures


def merged(folder: Path) -> dict[str, Any]:
    """Join the reports of all processes."""
    from slipcover import merge_coverage

    first, *others = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    for report in others:
        merge_coverage(first, report)
    return first


def main() -> int:
    folder = Path(sys.argv[1])
    if not list(folder.glob("*.json")):
        print(f"coverage: there are no figures in {folder.name}", file=sys.stderr)
        return 1
    table, failures = verdict(packages_of(merged(folder)), FLOORS)
    print("Coverage of lines and branches:", *table, sep="\n")
    for line in failures:
        print(line, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
