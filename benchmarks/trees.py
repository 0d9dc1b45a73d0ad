"""Measure how long trees of a workspace take: 2 000 files unchanged, after one edit, and brought back, beside git.

    python benchmarks/trees.py          # a markdown table; milliseconds, the median and the least of 15

A restore is measured in turn with `git reset --hard` of the same change, into the same files; what git needs to notice
the change (`git status`) is not counted against it.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from treadle._workspace.objects import Objects
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import RACY, Tracked

FILES, SIZE, REPEATS = 2_000, 20_000, 15


def fill(root: Path) -> list[Path]:
    random = Random(7)
    files = [root / f"package{number % 40}" / f"module{number}.py" for number in range(FILES)]
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(random.randbytes(SIZE // 2).hex().encode())
    return files


def milliseconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def edit(files: list[Path], step: int) -> None:
    """Settled: what was changed just before it is read is read again the next time."""
    for path in files:
        path.write_text(f"step = {step}\n")
    time.sleep(3 * RACY / 1e9)


def measure(root: Path, store: Path) -> dict[str, list[float]]:
    files = fill(root)

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0")
        there = (f"--git-dir={store}.git", f"--work-tree={root}")
        subprocess.run(["git", *who, *there, *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    folder = Tracked(root, Objects(store))
    time.sleep(3 * RACY / 1e9)
    results: dict[str, list[float]] = {"first": [milliseconds(folder.save)]}

    def note(name: str, work: Callable[[], Any]) -> None:
        results.setdefault(name, []).append(milliseconds(work))

    for step in range(REPEATS):
        tree = folder.save().tree
        note("unchanged", folder.save)
        edit(files[:1], step)
        note("after one edit", folder.save)
        for name, most in (("5 files", 5), ("500 files", 500)):
            edit(files[:most], step)
            note(f"restore of {name}", lambda tree=tree: restore(folder, tree))
            edit(files[:most], step)
            git("status", "--short")
            note(f"git reset --hard of {name}", lambda: git("reset", "--hard", "--quiet"))
    return results


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        (root := Path(place) / "work").mkdir()
        results = measure(root, Path(place) / "store")
    print(f"| {FILES} files, {FILES * SIZE // 1_000_000} MB | median ms | least ms |\n|---|---|---|")
    for name, taken in results.items():
        print(f"| {name} | {median(taken):.0f} | {min(taken):.0f} |")


if __name__ == "__main__":
    main()
