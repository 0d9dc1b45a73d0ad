"""Find files by name and lines by pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

from treadle._types.errors import ToolError
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.shell import Ended, run_program

GlobPattern = Annotated[str, Meta(min_length=1, max_length=300, description="Like **/*.py or src/*.{js,ts}")]
Pattern = Annotated[str, Meta(min_length=1, max_length=1_000, description="A regular expression")]
Folder = Annotated[str, Meta(max_length=1_000, description="Folder or file to look in; empty for the whole workspace")]
FileFilter = Annotated[str, Meta(max_length=100, description="Only files whose name fits, like *.py")]
Shows = Annotated[
    Literal["lines", "files", "counts"], Meta(description="The lines that fit, the files that have some, or how many")
]
Around = Annotated[int, Meta(ge=0, le=20, description="Lines to show before and after each")]
AnyCase = Annotated[bool, Meta(description="Capital and small letters are the same")]

SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache"}
)
"""Folders that hold what tools have made, not what people wrote."""
_MOST_FILES = 300
_MOST_CHOICES = 100
_MOST_SEEN = 200_000
_SECONDS = 30
_NOT_THERE = 127


def glob(bench: Bench, pattern: str, path: str) -> str:
    """Return the files whose path fits, by name."""
    fits = matcher(pattern)
    here = bench.parts(path)
    paths: list[str] = []
    for seen, (parts, _) in enumerate(bench.folder.walk(here, SKIPPED.__contains__)):
        if fits("/".join(parts[len(here) :])):
            paths.append("/".join(parts))
        if seen > _MOST_SEEN:
            paths.append("[not everything was searched: name a folder]")
            break
    shown = paths[:_MOST_FILES]
    more = [f"[{len(paths) - _MOST_FILES} more files: use a narrower pattern]"] if len(paths) > _MOST_FILES else []
    text = "\n".join((*shown, *more)).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text or "no file fits"


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return whether a path fits a pattern: ** stands for any folders; without a / only the name counts."""
    pattern = pattern.removeprefix("./")
    choices = [one.split("/") for one in _alternatives(pattern if "/" in pattern else f"**/{pattern}")]
    return lambda path: any(_fits(choice, path.split("/")) for choice in choices)


def _fits(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the parts of a path fit the segments of a pattern, in a time that grows with both."""
    places = _from({0}, segments)
    for part in parts:
        stay = {at for at in places if at < len(segments) and segments[at] == "**"}
        go_on = {at + 1 for at in places - stay if at < len(segments) and fnmatchcase(part, segments[at])}
        places = _from(stay | go_on, segments)
    return len(segments) in places


def _from(places: set[int], segments: Sequence[str]) -> set[int]:
    """The places in a pattern that can be reached from these: ** may stand for nothing."""
    reached = set(places)
    for at, segment in enumerate(segments):
        if at in reached and segment == "**":
            reached.add(at + 1)
    return reached


def _alternatives(pattern: str) -> list[str]:
    """The patterns that one with {a,b} stands for."""
    start = pattern.find("{")
    if start < 0:
        return [pattern]
    depth, cuts, end = 0, [start], len(pattern)
    for at in range(start, len(pattern)):
        depth += {"{": 1, "}": -1}.get(pattern[at], 0)
        if pattern[at] == "," and depth == 1:
            cuts.append(at)
        if not depth:
            end = at
            break
    insides = [pattern[one + 1 : two] for one, two in pairwise((*cuts, end))]
    choices = [
        whole
        for inside in insides
        for middle in _alternatives(inside)
        for whole in _alternatives(pattern[:start] + middle + pattern[end + 1 :])
    ]
    if len(choices) > _MOST_CHOICES:
        raise ToolError(f"the pattern stands for more than {_MOST_CHOICES} others: use a simpler one")
    return choices


async def grep(bench: Bench, pattern: str, path: str, name: str, show: str, around: int, any_case: bool) -> str:
    """Return what fits a regular expression, by ripgrep where it is there, else by grep."""
    search = _Search(pattern, "/".join(bench.parts(path)), name, show, around, any_case)
    for line in (search.ripgrep(), search.grep()):
        ended = await _run(bench, line)
        if ended.status != _NOT_THERE:
            break
    else:
        raise ToolError("the search failed: neither ripgrep nor grep is there")
    if ended.timed_out:
        raise ToolError(f"the search took longer than {_SECONDS} s: name a folder, or a simpler pattern")
    if ended.status > 1:
        raise ToolError(ended.output.strip()[:500] or f"the search failed with exit code {ended.status}")
    lines = ended.output.splitlines()
    if show == "counts":
        lines = [line for line in lines if not line.endswith(":0")]
    return "\n".join(lines if show == "lines" else sorted(lines)) or "nothing fits"


class _Search(Struct, frozen=True):
    pattern: str
    where: str
    name: str
    show: str
    around: int
    any_case: bool

    def ripgrep(self) -> list[str]:
        options = ["--no-config", "--hidden", "--no-messages", "--sort=path", "--max-columns=500", "--no-heading"]
        return ["rg", *options, *self._shared("--glob=!{}/", "--glob={}")]

    def grep(self) -> list[str]:
        return ["grep", "-r", "-I", "-s", "-P", *self._shared("--exclude-dir={}", "--include={}")]

    def _shared(self, without: str, only: str) -> list[str]:
        shown = {"lines": ["-n", "-H", f"-C{self.around}"], "files": ["-l"], "counts": ["-c", "-H"]}[self.show]
        options = [*map(without.format, sorted(SKIPPED)), *([only.format(self.name)] if self.name else []), *shown]
        options += ["-i"] if self.any_case else []
        return [*options, "-e", self.pattern, *(["--", self.where] if self.where else [])]


async def _run(bench: Bench, line: Sequence[str]) -> Ended:
    """Run a program that reads, where nothing can be written if the machine can promise that."""
    guarded = ["sh", "-c", f'command -v "$1" >/dev/null || exit {_NOT_THERE}; exec "$@"', "sh", *line]
    try:
        return await run_program(bench.machine, guarded, _SECONDS, read_only=True)
    except ToolError:
        return await run_program(bench.machine, guarded, _SECONDS, read_only=False)
