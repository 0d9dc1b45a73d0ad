"""Rows of the Berkeley function-calling leaderboard (package `bfcl-eval`, Apache-2.0).

Odd rows are for learning (every eighth of them for development), even rows for the test.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from training.scenario import Act, Leave, Say, Scenario
from treadle import Tool, ToolResponse

CATEGORIES = ("simple_python", "multiple", "live_simple", "live_multiple", "irrelevance", "live_irrelevance")
MOST_TOOLS = 12
LONGEST_FUNCTION = 1500
"""Characters of a description that is put beside others."""
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string", "double": "number", "long": "integer"}
PLAIN = ("object", "number", "array", "string", "integer", "boolean", "null")


class Row(NamedTuple):
    id: str
    category: str
    system: str
    question: str
    functions: list[dict[str, Any]]
    truth: list[dict[str, Any]] | None
    """Accepted calls with accepted values; None where no call is right."""


def rows(folder: Path, odd: bool) -> Iterator[Row]:
    """`folder` is the package's `data` folder."""
    for category in CATEGORIES:
        lines = [
            json.loads(line) for line in (folder / f"BFCL_v4_{category}.json").read_text().splitlines() if line.strip()
        ]
        answers: dict[str, Any] = {}
        if "irrelevance" not in category:
            text = (folder / "possible_answer" / f"BFCL_v4_{category}.json").read_text()
            answers = {row["id"]: row["ground_truth"] for row in map(json.loads, filter(str.strip, text.splitlines()))}
        for index, line in enumerate(lines):
            if index % 2 == int(odd) and 1 <= len(line["function"]) <= MOST_TOOLS:
                messages = line["question"][0]
                said = {
                    role: "\n".join(m["content"] for m in messages if m["role"] == role) for role in ("system", "user")
                }
                yield Row(line["id"], category, said["system"], said["user"], line["function"], answers.get(line["id"]))


def sample(folder: Path, odd: bool, per_category: int) -> list[Row]:
    """The same number of rows of each category, spread evenly."""
    chosen: list[Row] = []
    for category in CATEGORIES:
        of_category = [row for row in rows(folder, odd) if row.category == category]
        count = min(per_category, len(of_category))
        chosen += [of_category[int(i * len(of_category) / count)] for i in range(count)]
    return chosen


def development(folder: Path) -> list[Row]:
    """Odd rows that are not trained on: every eighth of them."""
    return [row for index, row in enumerate(rows(folder, odd=True)) if index % 8 == 0]


def training(folder: Path) -> Iterator[Row]:
    return (row for index, row in enumerate(rows(folder, odd=True)) if index % 8 != 0)


def tool_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def schema(node: Any) -> Any:
    """The leaderboard's types as JSON Schema has them."""
    if not isinstance(node, dict):
        return node
    fields: dict[str, Any] = {}
    for key, value in node.items():
        if key == "optional":
            continue
        if key == "type" and isinstance(value, str):
            value = TYPES.get(value.lower(), value.lower())
            value = value if value in PLAIN else "string"
        elif key == "properties":
            value = {name: schema(item) for name, item in value.items()}
        elif key == "items":
            value = schema(value)
        fields[key] = value
    return fields


def tools_of(row: Row, execute: Any = None) -> list[Tool]:
    """`execute(name, args)` sees the call; without it the first call ends the run."""
    tools: list[Tool] = []
    for function in row.functions:
        name = tool_name(function["name"])
        parameters = {"type": "object", "properties": {}, **schema(function["parameters"])}

        def call(_name: str = name, **args: Any) -> ToolResponse:
            if execute is not None:
                execute(_name, args)
            return ToolResponse(observation="done", final_answer=True)

        tools.append(Tool(name, function.get("description", ""), parameters, call, effect="pure"))
    return tools


def _in(value: Any, question: str) -> bool:
    return (
        not isinstance(value, bool) and isinstance(value, (str, int, float)) and str(value).lower() in question.lower()
    )


def _resolve(accepted: list[Any], question: str, node: dict[str, Any]) -> Any:
    """One of the accepted values: the one that stands in the question, else the first."""
    options = [value for value in accepted if value != ""]
    if not options:
        return None
    best = next((value for value in options if _in(value, question)), options[0])
    if isinstance(best, dict):
        properties = node.get("properties") or {}
        return _arguments(best, properties, question) or None
    if isinstance(best, list) and best and isinstance(best[0], dict):
        return [_resolve([item], question, node.get("items") or {}) for item in best]
    return best


def _arguments(accepted: dict[str, Any], properties: dict[str, Any], question: str) -> dict[str, Any]:
    args: dict[str, Any] = {}
    for name in [*properties, *(name for name in accepted if name not in properties)]:
        if name not in accepted:
            continue
        values = accepted[name] if isinstance(accepted[name], list) else [accepted[name]]
        if "" in values and not any(_in(value, question) for value in values if value != ""):
            continue  # optional, and nobody asked for it
        value = _resolve(values, question, properties.get(name) or {})
        if value is not None:
            args[name] = value
    return args


def names(rows: Iterable[Row]) -> set[str]:
    """Names of all functions in these rows."""
    return {tool_name(function["name"]) for row in rows for function in row.functions}


def among(r: random.Random, row: Row, others: Sequence[Row], count: int) -> Row:
    """The row with functions of other rows beside its own. One that no call is right for keeps to itself: another's
    function might be the one that it lacks."""
    if row.truth is None:
        return row
    functions = {tool_name(function["name"]): function for function in row.functions}
    for other in r.sample(others, min(count, len(others))):
        function = r.choice(other.functions)
        if len(json.dumps(function)) < LONGEST_FUNCTION and other.category.split("_")[-1] != "irrelevance":
            functions.setdefault(tool_name(function["name"]), function)
    mixed = list(functions.values())
    r.shuffle(mixed)
    return row._replace(functions=mixed)


def scenario(r: random.Random, row: Row) -> Scenario:
    tools = tools_of(row)
    if row.category == "irrelevance":  # common knowledge and small sums, beside tools for something else
        return Scenario("bfcl_none", tools, row.question, [Leave("...")], fill=False)
    if row.truth is None:
        text = r.choice(
            (
                "I cannot help with that: none of my tools can do it.",
                "None of my tools can tell this, so I cannot answer it.",
                "I have no tool for this.",
                "My tools do not cover this question.",
            )
        )
        return Scenario("bfcl_none", tools, row.question, [Say(text, successful=False)], fill=False)
    ((name, accepted),) = row.truth[0].items()
    tool = next(tool for tool in tools if tool.name == tool_name(name))
    args = _arguments(accepted, tool.parameters.get("properties") or {}, row.question)
    return Scenario("bfcl_call", tools, row.question, [Act(tool.name, args)], fill=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"[\s,./\-_*^'\"]", "", value).lower()
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return round(float(value), 6)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _accepts(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(given, dict):
        return all(
            key in wanted and any(_accepts(value, w) for w in wanted[key]) for key, value in given.items()
        ) and all(key in given or "" in values for key, values in wanted.items())
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(map(_accepts, given, wanted))
    return _plain(given) == _plain(wanted)


def right(row: Row, calls: Sequence[tuple[str, dict[str, Any]]], *, failed: bool = False) -> bool:
    """Whether what became of a row is accepted.

    Where a call is right: the first of `calls` is that one, with accepted values. Where none is: there are no calls,
    and the run has not `failed` before it could make one. Which calls these are, whoever asked the model says
    (`training.rows.asked`).
    """
    if row.truth is None:
        return not calls and not failed
    if not calls:
        return False
    name, args = calls[0]
    ((wanted, accepted),) = row.truth[0].items()
    return (
        name == tool_name(wanted)
        and all(
            key in accepted and any(_accepts(value, option) for option in accepted[key]) for key, value in args.items()
        )
        and all(key in args or "" in values for key, values in accepted.items())
    )
