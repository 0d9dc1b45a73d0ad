"""Count words that plain English or the field has a better word for, and say which.

    python scripts/words.py           # counts for each package, and the total
    python scripts/words.py _journal  # each place in one package
    python scripts/words.py --save    # write the counts to tests/words_allowed.json; no total may grow

`tests/test_house.py` fails when a package has more of them than `tests/words_allowed.json` allows.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "treadle"
ALLOWED = ROOT / "tests" / "words_allowed.json"

KINDS = ("modules", "functions", "names", "docstrings", "phrases")
MODULES = {
    "asking": "requests, generation, consent: what is asked",
    "beginning": "run_lookup",
    "foreign": "untyped_json",
    "given": "workspace_context",
    "kept": "prompt_cache",
    "known": "knowledge",
    "passed": "exchange",
    "slips": "perturbations",
    "soup": "weight_averaging",
    "taken": "pending_inbox",
    "taught": "adapters",
    "telling": "phrasing",
    "worth_having": "model_list",
}
FUNCTIONS = {
    "_as_careful_as": "_stricter_policy",
    "insists": "repeats_refused_call",
    "judged": "model_judge",
    "leaves_words": "defers_answer_text",
    "said_otherwise": "matches_in_other_form",
    "told_in_words": "is_spoken_number",
    "untaught": "lacks_adapter",
    "why_none": "no_batch_reason",
    "without": "forbid_patterns",
}
DOCUMENTED = "documented"
"""The number of all docstrings, counted beside the kinds to compute a share."""
NAMES = {
    "found": "match, matches, hits, or the noun: tool, path, row",
    "given": "value, argument, options",
    "kept": "stored, remaining, selected",
    "known": "names, existing, or the noun: models, tools",
    "said": "text, answer, reply, message",
    "together": "concurrency",
    "told": "message, notice",
}
"""Variables, parameters and fields: a participle does not say what the value is."""
DOCSTRINGS = re.compile(r"(What|Whether)\b")
"""A docstring begins with a verb, or with the noun that it describes."""
DOCSTRING_SHARE = 0.05
DESCRIBED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NAMED: dict[type[ast.AST], str] = {ast.arg: "arg", ast.Name: "id", ast.Attribute: "attr"}
STORE = ast.Store()
"""What a parameter is for: it has no field that says so."""
PHRASES = re.compile(
    r"\bknown are\b|\bmended\b|\bthere is none of\b|(?<!\bthere )\bis none\b|\b\d+ of \d+ less than\b"
    r"|\bthose (that )?there are\b|\b(tool|name)s? that there (is|are)\b"
)

Nodes = Callable[[Path], Iterable[ast.AST]]


@dataclass(frozen=True, slots=True)
class Place:
    """One use of a word on the list."""

    kind: str
    line: int
    text: str


def words_in(source: str, nodes: Iterable[ast.AST] | None = None) -> Iterator[Place]:
    """Yield each word of the list that the source of one module uses; `nodes` are its nodes, where it is parsed."""
    for node in ast.walk(ast.parse(source)) if nodes is None else nodes:
        if (attribute := NAMED.get(type(node))) is not None:
            if (name := getattr(node, attribute)) in NAMES and isinstance(getattr(node, "ctx", STORE), ast.Store):
                yield Place("names", node.lineno, f"{name}: {NAMES[name]}")
        elif isinstance(node, DESCRIBED):
            if getattr(node, "name", "") in FUNCTIONS:
                yield Place("functions", node.lineno, f"{node.name}: {FUNCTIONS[node.name]}")
            text = ast.get_docstring(node, clean=False)
            if text:
                yield Place(DOCUMENTED, 0, "")
                if DOCSTRINGS.match(text):
                    yield Place("docstrings", getattr(node, "lineno", 1), text.splitlines()[0])
    if PHRASES.search(source):  # tokenizing takes long, and few files need it
        yield from phrases_in(source)


def phrases_in(source: str) -> Iterator[Place]:
    """Yield the phrases of the list that stand in comments and strings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        # Python 3.12 splits an f-string into tokens of its own; 3.11 gives it whole.
        if token.type == tokenize.COMMENT or tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE"):
            for phrase in PHRASES.finditer(token.string):
                yield Place("phrases", token.start[0], phrase[0])


def places_of(path: Path, nodes: Iterable[ast.AST] | None = None) -> Iterator[Place]:
    """Yield the words of one file, its own name included."""
    name = path.parent.name if path.name == "__init__.py" else path.stem
    if name in MODULES:
        yield Place("modules", 1, f"{name}: {MODULES[name]}")
    yield from words_in(path.read_text("utf-8"), nodes)


def packages(source: Path = SOURCE) -> dict[str, list[Path]]:
    """Map each package to its files; modules at the top level belong to `treadle`."""
    files: dict[str, list[Path]] = {}
    for path in sorted(source.rglob("*.py")):
        first, *rest = path.relative_to(source).parts
        files.setdefault(first if rest else "treadle", []).append(path)
    return files


def count_words(source: Path = SOURCE, nodes_of: Nodes | None = None) -> dict[str, Counter[str]]:
    """Count the uses of each kind in each package."""
    return {
        package: Counter(place.kind for path in files for place in places_of(path, nodes_of and nodes_of(path)))
        for package, files in packages(source).items()
    }


def excess(counts: Mapping[str, Mapping[str, int]], allowed: Mapping[str, Mapping[str, int]]) -> list[str]:
    """List what is above its allowance; a package that is not in the file has none but the share of docstrings."""
    problems: list[str] = []
    for package, uses in counts.items():
        for kind in KINDS:
            limit = allowed.get(package, {}).get(kind, 0)
            if kind == "docstrings":
                limit = max(limit, int(DOCSTRING_SHARE * uses.get(DOCUMENTED, 0)))
            if uses.get(kind, 0) > limit:
                problems.append(f"{package}: {uses[kind]} {kind}, allowed {limit} (python scripts/words.py {package})")
    return problems


def totals(counts: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for uses in counts.values():
        total.update(uses)
    return total


def load_allowed() -> dict[str, dict[str, int]]:
    return json.loads(ALLOWED.read_text("utf-8")) if ALLOWED.exists() else {}


def save(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Write the allowance. Code may move between packages, so only the total of a kind must not grow."""
    if ALLOWED.exists():
        before, now = totals(load_allowed()), totals(counts)
        if grown := [f"{kind}: {before[kind]} -> {now[kind]}" for kind in KINDS if now[kind] > before[kind]]:
            return f"not saved, more than before: {', '.join(grown)}"
    table = {
        package: {kind: uses[kind] for kind in KINDS if uses.get(kind)}
        for package, uses in sorted(counts.items())
        if any(uses.get(kind) for kind in KINDS)
    }
    ALLOWED.write_text(json.dumps(table, indent=2) + "\n", "utf-8")
    return ""


def show_counts(counts: Mapping[str, Mapping[str, int]]) -> None:
    print(f"{'package':<12}" + "".join(f"{kind:>12}" for kind in KINDS) + f"{'share':>8}")
    for package, uses in [*sorted(counts.items()), ("total", totals(counts))]:
        share = uses.get("docstrings", 0) / max(uses.get(DOCUMENTED, 0), 1)
        print(f"{package:<12}" + "".join(f"{uses.get(kind, 0):>12}" for kind in KINDS) + f"{share:>8.1%}")


def show_places(package: str) -> None:
    for path in packages()[package]:
        for place in sorted(places_of(path), key=lambda place: place.line):
            if place.kind in KINDS:
                print(f"{path.relative_to(ROOT)}:{place.line}: {place.kind}: {place.text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", choices=sorted(packages()), help="list each place in this package")
    parser.add_argument("--save", action="store_true", help="write the counts as the new allowance")
    options = parser.parse_args()
    if options.package:
        show_places(options.package)
        return 0
    counts = count_words()
    show_counts(counts)
    if options.save and (problem := save(counts)):
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
