"""How the time of a reader grows with a hostile text: patterns of the source, texts made from them."""

from __future__ import annotations

import ast
import inspect
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

sre: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
SIZES = (1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000)
FEW = (2_500, 5_000, 20_000)
"""For a test that runs always: a reader that takes the square of 20 000 characters is found. The first and the last are
compared; most readers are done with the second so soon that they are not given the last."""
MOST = 2.5
"""How many times as long a text twice as long may take."""
SMALL = 0.004
"""Seconds below which a ratio says nothing: a reader that reads the largest text in less is fast enough."""
HARMFUL = 0.05
"""Seconds from which growth is a fault: below it, memory and other programs make as much difference as the reader."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
METHODS = {"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


class Use(NamedTuple):
    """A pattern and how it is called."""

    where: str
    pattern: str
    flags: int
    method: str

    def reader(self) -> Callable[[Any], object]:
        compiled: Any = re.compile(self.pattern, self.flags)
        match self.method:
            case "sub" | "subn":
                return lambda text: compiled.sub("", text)
            case "finditer":
                return lambda text: list[Any](compiled.finditer(text))
            case method:
                return getattr(compiled, method)


class Patterns(NamedTuple):
    """Those that can be tried as they are, and where others are put together of texts that are known only then."""

    uses: list[Use]
    built: set[str]


def patterns_in(folder: Path) -> Patterns:
    """Every pattern of the source with each method it is called by, in its own module or in another: those that stand
    there, and those that a module or a function without arguments makes of its own constants."""
    trees = {
        path: ast.parse(text) for path in sorted(folder.rglob("*.py")) if re.search(r"\bre\.", text := path.read_text())
    }
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}
    called: dict[tuple[Path | None, str], set[str]] = {}
    for path in trees:
        for node in nodes[path]:
            if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
                owner = path if node.value.id.startswith("_") else None  # a private one is its module's
                called.setdefault((owner, node.value.id), set()).add(node.attr)
    uses: list[Use] = []
    built: set[str] = set()
    for path, tree in trees.items():
        names = {id(node.value): ast.unparse(node.targets[0]) for node in nodes[path] if isinstance(node, ast.Assign)}
        file = path.relative_to(folder).as_posix()
        module = partial(import_module, f"treadle.{file.removesuffix('.py').replace('/', '.')}")
        for node in nodes[path]:
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            method = node.func.attr
            if ast.unparse(node.func.value) != "re" or not node.args or method not in {*METHODS, "compile"}:
                continue
            name = names.get(id(node), "")
            around = (one for one in tree.body if one.lineno <= node.lineno <= (one.end_lineno or 0))
            function = next((one.name for one in around if isinstance(one, FUNCTIONS)), "")
            own = (path if name.startswith("_") else None, name)
            methods = called.get(own, {"search"}) & METHODS if method == "compile" else {method}
            for text, flags in _texts_of(node, name, function, module) or [("", 0)]:
                if text:
                    where = f"{file}:{name or function or node.lineno}"
                    uses += [Use(where, text, flags, one) for one in sorted(methods)]
                else:
                    built.add(f"{file}:{function}")
    return Patterns(list(dict.fromkeys(uses)), built)


def _texts_of(call: ast.Call, name: str, function: str, module: Callable[[], Any]) -> list[tuple[str, int]]:
    """The patterns of one call with their flags; none where they depend on what the function is given."""
    text = call.args[0]
    if isinstance(text, ast.Constant):
        return [(str(text.value), _flags(call))]
    if isinstance(text, ast.Name) and isinstance(value := getattr(module(), text.id, None), str):
        return [(value, _flags(call))]
    if function:
        made = getattr(module(), function, None)
        if not callable(made) or inspect.signature(made).parameters:
            return []
        return [(one.pattern, one.flags) for one in _compiled(made())]
    loaded: Any = module()
    value: Any = getattr(loaded, name, None) if name else tuple(loaded.__dict__.values())
    return [(one.pattern, one.flags) for one in _compiled(value)]


def _compiled(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (list, tuple)) and depth < 3:
        for one in cast("Sequence[Any]", value):
            yield from _compiled(one, depth + 1)


def _flags(call: ast.Call) -> int:
    words = [ast.unparse(arg) for arg in call.args[1:]] + [
        ast.unparse(k.value) for k in call.keywords if k.arg == "flags"
    ]
    return sum(int(getattr(re, name)) for name in re.findall(r"re\.([A-Z]+)\b", " ".join(words)))


def texts_for(use: Use) -> Iterator[Callable[[int], str]]:
    """Texts of any size made of what the pattern reads without a limit: one character again and again, its own example,
    with what it waits for never coming. A pattern that reads nothing without a limit takes the same for every place."""
    tree = parser.parse(use.pattern, use.flags)
    endless = dict.fromkeys(_endless(tree))
    if not endless:
        return
    sample = _sample(tree)
    whole = sample[:40]
    for unit in dict.fromkeys([*list(endless)[:6], "\n", " ", whole, sample[: max(1, len(sample) // 2)]]):
        if unit:
            yield lambda size, unit=unit: (unit * (size // len(unit) + 1))[:size] + "\0"
            if len(whole) > 1:
                yield lambda size, unit=unit: whole + (unit * (size // len(unit) + 1))[:size] + "\0"


def _endless(tree: Any) -> Iterator[str]:
    """Characters that are read without a limit."""
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            yield from _characters(value[2]) if value[1] > 2_000 else _endless(value[2])
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _endless(branch)
        elif kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP, sre.ASSERT, sre.ASSERT_NOT):
            yield from _endless(value if kind is sre.ATOMIC_GROUP else value[-1])


def _characters(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.NOT_LITERAL or kind is sre.ANY:
            yield "x"
        elif kind is sre.IN:
            yield _member(value)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _characters(branch)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            yield from _characters(value[2])
        elif kind is sre.SUBPATTERN:
            yield from _characters(value[3])
        elif kind is sre.ATOMIC_GROUP:
            yield from _characters(value)


def _member(options: Any) -> str:
    named = {sre.CATEGORY_DIGIT: "0", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a", sre.CATEGORY_NOT_SPACE: "x"}
    if options[0][0] is sre.NEGATE:
        excluded = {chr(value) for kind, value in options if kind is sre.LITERAL}
        return next(character for character in "x(<{[0-." if character not in excluded)
    for kind, value in options:
        if kind is sre.LITERAL:
            return chr(value)
        if kind is sre.RANGE:
            return chr(value[0])
        if kind is sre.CATEGORY:
            return named.get(value, "-")
    return "x"


def _sample(tree: Any) -> str:
    """A text that the pattern begins to match."""
    text = ""
    for kind, value in tree:
        if kind is sre.BRANCH:
            text += _sample(value[1][0])
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            text += _sample(value[2]) * max(1, min(value[0], 20))
        elif kind is sre.SUBPATTERN:
            text += _sample(value[3])
        elif kind is sre.ATOMIC_GROUP:
            text += _sample(value)
        else:
            text += next(_characters([(kind, value)]), "")
    return text


def too_fast_growing(read: Callable[[Any], object], text: Callable[[int], Any], sizes: tuple[int, ...] = SIZES) -> str:
    """Say where the time more than doubles three times in a row; empty when it does not. Stops at the first such size:
    what grows with the square takes no longer to find than what does not. Only a suspicion is measured again, as the
    least of several times: other programs make a reader slower, never faster."""
    times: dict[int, float] = {}
    for size in sizes:
        times[size] = seconds(read, text(size))
        smallest = size // 8
        if times[size] > SMALL and times.get(smallest) and times[size] > MOST**3 * times[smallest]:
            again = {number: text(number) for number in (smallest, size)}
            for _ in range(4):
                for number, value in again.items():
                    times[number] = min(times[number], seconds(read, value))
            if times[size] > HARMFUL and times[size] > MOST**3 * times[smallest]:
                return ", ".join(f"{number}: {seconds * 1000:.1f} ms" for number, seconds in times.items())
        if size >= 5_000 and times[size] < SMALL / 5:
            break  # what grows with the square takes longer than this
    return ""


def seconds(read: Callable[[Any], object], value: Any) -> float:
    began = time.thread_time()
    read(value)
    return time.thread_time() - began
