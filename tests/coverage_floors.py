"""Prints the branch coverage of each package that has a floor and fails when one is below it.

Run by `python3 tasks.py test` after the whole suite, which traces the tests of these packages and no others.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from coverage import Coverage
from coverage.exceptions import CoverageException

FLOORS = {"_types": 97, "_dialects": 98, "_engine": 96, "_plugins": 97, "_flows": 95}
"""Percent of statements and branches together. Raise a floor when its figure is well above it; never lower one.

They were lowered once, when only the tests in the folders of `TRACED` (tasks.py) came to be traced: what tests in other
folders and in processes of their own reach does not count any more. To be raised again with tests beside the code."""

WORST_SHOWN = 5


@dataclass(slots=True)
class Package:
    covered: int = 0
    total: int = 0
    missing: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0


def packages_of(report: dict) -> dict[str, Package]:
    """Coverage's JSON report, summed per top-level folder of the package."""
    packages: dict[str, Package] = defaultdict(Package)
    for path, entry in report["files"].items():
        parts = PurePath(path).parts
        below = parts[parts.index("treadle") + 1 :]
        package = packages[below[0] if len(below) > 1 else "(top level)"]
        summary = entry["summary"]
        total = summary["num_statements"] + summary["num_branches"]
        covered = summary["covered_lines"] + summary["covered_branches"]
        package.total += total
        package.covered += covered
        package.missing.append((total - covered, "/".join(below)))
    return dict(packages)


def verdict(packages: dict[str, Package], floors: dict[str, int]) -> tuple[list[str], list[str]]:
    """The table to show, and one line for each package that is below its floor.

    A package without a floor is left out: what the tests of other packages reach of it says little.
    """
    table: list[str] = []
    failures: list[str] = []
    for name, package in sorted(packages.items()):
        if (floor := floors.get(name)) is None:
            continue
        # Cut, not rounded: 89.96 % must not be shown as 90.0 % and then fail.
        shown = f"{int(package.percent * 10) / 10:5.1f} %"
        table.append(f"  {name:<12} {shown}   floor {floor} %")
        if package.percent < floor:
            worst = [
                f"{path} ({count})" for count, path in sorted(package.missing, reverse=True)[:WORST_SHOWN] if count
            ]
            failures.append(
                f"coverage: {name} is at {shown.strip()}, its floor is {floor} %; most is missing in {', '.join(worst)}"
            )
    failures += [f"coverage: nothing was measured in {name}" for name in sorted(floors.keys() - packages.keys())]
    return table, failures


def measured() -> dict:
    coverage = Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "coverage.json"
        coverage.json_report(outfile=str(target))
        return json.loads(target.read_text("utf-8"))


def main() -> int:
    try:
        report = measured()
    except CoverageException as error:
        print(f"coverage: no figures: {error}", file=sys.stderr)
        return 1
    table, failures = verdict(packages_of(report), FLOORS)
    print("Branch coverage:", *table, sep="\n")
    for line in failures:
        print(line, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
