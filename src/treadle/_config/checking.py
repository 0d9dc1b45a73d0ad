"""Check a document without calling a model, a tool or a server."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any, cast

from msgspec import Struct

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._config.build import Builder
from treadle._config.components import FIELDS_OF, PARAMS, REFERRING, kind_of, next_of
from treadle._config.document import AgentParams, Component, Document, Path, Problem, ToolRef, convert, read_document
from treadle._config.links import sorted_components
from treadle._config.scope import bare, has_references, references_in
from treadle._models.base import Model
from treadle._models.catalog.registry import check_model_name
from treadle._models.scripted import ScriptedModel
from treadle._safety.data import read_text
from treadle._types.errors import ConfigError, MissingExtraError, MissingKeyError, nearest

_AT = re.compile(r"at `\$([^`]*)`")
_PART = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")


class Checked(Struct, frozen=True):
    """The components of a document, its problems, and notes on what this machine lacks to run it."""

    lines: list[str]
    problems: list[str]
    notes: list[str]


def check_file(path: str | FilePath) -> Checked:
    """Reads and checks a document. Each problem names the file and, where it can be told, the line."""
    file = FilePath(path)
    try:
        document = read_document(file)
        order = sorted_components(document, str(file))
    except ConfigError as error:
        return Checked([], [str(error)], [])
    issues = list(Checker(document, file.resolve().parent).problems(order))
    where = lines_of(read_text(file), file.suffix.lower())
    problems = [_located(file, problem, line_of(where, problem.path)) for problem, fatal in issues if fatal]
    notes = [_located(file, problem, line_of(where, problem.path)) for problem, fatal in issues if not fatal]
    return Checked([_described(document, name) for name in order], problems, notes)


def _located(file: FilePath, problem: Problem, line: int) -> str:
    return f"{file}:{line}: {problem}" if line else f"{file}: {problem}"


def _described(document: Document, name: str) -> str:
    component = document.components[name]
    kind = kind_of(component)
    if kind != "agent":
        return f"{name}: {kind if kind != 'tool' else component.obj.component_name}"
    try:
        params: AgentParams = convert(component.obj.params, AgentParams, name)
    except ConfigError:
        return f"{name}: agent"
    tools = [ref.component_name for ref in params.tools] + [f"mcp:{ref.mcp_id}" for ref in params.mcp]
    return f"{name}: agent on {params.llm_id or '(no model)'}, tools: {', '.join(tools) or 'none'}"


Issues = Iterator[tuple[Problem, bool]]
"""Problems, each with True if the document is wrong; a missing key or package is a problem of this machine."""


class Checker:
    """Tries to build everything that a document describes, with a stand-in for models that are not to be reached."""

    def __init__(self, document: Document, base: FilePath, model: str | Model | None = None) -> None:
        self.document = document
        self._any_model = model is not None
        self.builder = Builder(document, base, model=ScriptedModel([]), where="")

    def problems(self, order: list[str]) -> Issues:
        if not any(kind_of(one) in ("agent", "categorize") for one in self.document.components.values()):
            yield Problem((), "a document needs at least one component named Agent"), True
        for name in order:
            component = self.document.components[name]
            path: Path = ("components", name, "obj", "params")
            kind = kind_of(component)
            if kind == "agent":
                yield from self._agent(name, component.obj.params, path)
            elif kind == "tool":
                yield from self._attempt(path[:-1], lambda n=name: self.builder.component_tool(n))
            else:
                yield from self._special(name, kind, path)
        for problem in reference_problems(self.document, order):
            yield problem, True
        for note in self.builder.notes:
            yield Problem((), note), False

    def _special(self, name: str, kind: str, path: Path) -> Issues:
        params: dict[str, Any] = self.document.components[name].obj.params
        try:
            convert(params, PARAMS[kind], "")
        except ConfigError as error:
            yield Problem((*path, *_path_in(str(error))), _text(error)), True
            return
        for other in next_of(self.document.components[name]):
            if other not in self.document.components:
                yield Problem(path, f"leads to {other!r}, which does not exist"), True
        if kind in self.builder.TOOL_KINDS:
            yield from self._attempt(path, lambda: self.builder.component_tool(name))

    def _agent(self, name: str, raw: dict[str, Any], path: Path) -> Issues:
        try:
            params: AgentParams = convert(raw, AgentParams, "")
        except ConfigError as error:
            yield Problem((*path, *_path_in(str(error))), _text(error)), True
            return
        if params.llm_id and not self._any_model:
            yield from self._attempt((*path, "llm_id"), lambda: check_model_name(params.llm_id))
        elif not self._any_model:
            yield Problem(path, "there is no llm_id: add one, for example gpt-4o@OpenAI"), True
        yield from self._attempt((*path, "preset"), lambda: presets.get(params.preset))
        right = True
        for number, tool in enumerate(params.tools):
            for issue in self._tool(name, tool, (*path, "tools", number)):
                right = right and not issue[1]
                yield issue
        for number, mcp in enumerate(params.mcp):
            for issue in self._attempt((*path, "mcp", number, "mcp_id"), lambda m=mcp: self.builder.mcp(name, m)):
                right = right and not issue[1]
                yield issue
        for setting, value in params.settings.items():
            for issue in self._attempt(
                (*path, "settings", setting), lambda s=setting, v=value: Agent(ScriptedModel([]), None, **{s: v})
            ):
                right = right and not issue[1]
                yield issue
        if right and params.preset in presets.names():
            yield from self._attempt(path, lambda: self.builder.agent(name, raw))

    def _tool(self, name: str, ref: ToolRef, path: Path) -> Issues:
        if ref.component_name.lower() == "agent":
            yield from self._agent(ref.id or name, ref.params, (*path, "params"))
        else:
            yield from self._attempt(path, lambda: self.builder.tools(name, ref))

    def _attempt(self, path: Path, build: Callable[[], object]) -> Issues:
        try:
            build()
        except (MissingKeyError, MissingExtraError) as error:
            yield Problem(path, _text(error)), False
        except (ConfigError, TypeError) as error:
            yield Problem(path, _text(error)), True


def first_problem(
    document: Document, base: FilePath, order: list[str], model: str | Model | None = None
) -> Problem | None:
    """Return the first thing that is wrong with a document: loading refuses what `treadle config check` reports.
    `model` takes the place of the models that it names."""
    issues = Checker(document, base, model).problems(order)
    return next((problem for problem, fatal in issues if fatal), None)


def _text(error: Exception) -> str:
    return str(error).removeprefix(": ")


def _path_in(message: str) -> Path:
    """Extract the path from a message about invalid data."""
    match = _AT.search(message)
    unknown = re.search(r"unknown field `([^`]+)`", message)
    parts = _PART.findall(match.group(1)) if match else []
    path = tuple(int(index) if index else name for name, index in parts)
    return (*path, unknown.group(1)) if unknown else path


# ---- references: `{{sys.query}}`, `{{env.tone}}` and `{{Component:Id@content}}`

SYSTEM = (
    "sys.query", "sys.user", "sys.user_id", "sys.files", "sys.history", "sys.date", "sys.conversation_turns",
)  # fmt: skip
"""References that every run provides: the question, who asks, what came with it, and what was said before."""


def reference_problems(document: Document, order: Sequence[str]) -> Iterator[Problem]:
    """Yield the wrong references of each component: it may use components that run before it, by exact name."""
    for index, name in enumerate(order):
        for path, reference in _references(name, document.components[name]):
            if problem := _problem(reference, document, order, index):
                yield Problem(path, f"{{{{{reference}}}}} {problem}")


def _problem(reference: str, document: Document, order: Sequence[str], index: int) -> str:
    if reference.startswith("env."):
        return "" if reference in document.globals else f"refers to {reference!r}, which is not in `globals`"
    if reference in SYSTEM or reference in document.globals:
        return ""
    name, _, field = (part.strip() for part in reference.partition("@"))
    if name not in order:
        hint = nearest(name, [*order, *SYSTEM], [*SYSTEM, *order[:index]], 0.5)
        return f"refers to {name!r}, which does not exist; {hint}"
    if name not in order[:index]:
        return f"refers to {name!r}, which does not run before {order[index]!r}: link them, or use one that does"
    component = document.components[name]
    fields = FIELDS_OF[kind_of(component)](component.obj.params)
    head = field.partition(".")[0]
    if fields is not None and head and head not in fields:
        names = " or ".join(f"{{{{{name}@{one}}}}}" for one in fields)
        return f"refers to {head!r} of {name!r}, which is not one of its outputs: write {names}"
    return ""


def _references(name: str, component: Component) -> Iterator[tuple[Path, str]]:
    """Yield the references of a component, those in its texts and those that stand alone."""
    params = component.obj.params
    for field in REFERRING:
        for path, text in _texts(params.get(field), ("components", name, "obj", "params", field)):
            alone = path[-1] in ("query", "items_ref", "split_ref", "cpn_id") or (
                field == "groups" and path[-1] == "value"
            )
            if alone and not has_references(text):
                yield path, bare(text)
            for match in references_in(text):
                yield path, match.group(1)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[Any], value)):
            yield from _texts(item, (*path, number))


Lines = dict[Path, int]
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r"[^,\]}\s]+")


def line_of(lines: Lines, path: Path) -> int:
    """Return the line of `path`, or of the closest value around it that the file has; 0 if there is none.

    A document may be written in a short form: one agent, or components without a key around them.
    """
    for form in (path, _as_one_agent(path), path[1:]):
        for end in range(len(form), 0, -1):
            if form[:end] in lines:
                return lines[form[:end]]
    return 0


def _as_one_agent(path: Path) -> Path:
    return ("agent", *path[4:]) if path[2:4] == ("obj", "params") else path


def lines_of(text: str, suffix: str) -> Lines:
    """The line of each key and item, counted from 1; empty for a text that cannot be read.

    For texts that were read as a document before: sizes, depths and repetitions are in bounds.
    """
    try:
        return _yaml_lines(text) if suffix in (".yaml", ".yml") else _json_lines(text)
    except (ValueError, RecursionError):
        return {}


def _yaml_lines(text: str) -> Lines:
    from treadle._safety.yaml_loader import nodes

    lines: Lines = {}

    def walk(node: Any, path: Path) -> None:
        if node.id == "mapping":
            for key, value in cast(list[tuple[Any, Any]], node.value):
                lines[(*path, str(key.value))] = key.start_mark.line + 1
                walk(value, (*path, str(key.value)))
        elif node.id == "sequence":
            for number, item in enumerate(cast(list[Any], node.value)):
                lines[(*path, number)] = item.start_mark.line + 1
                walk(item, (*path, number))

    walk(nodes(text), ())
    return lines


def _json_lines(text: str) -> Lines:
    """Scan a text that is valid JSON: only its brackets, keys and commas matter."""
    import json

    lines: Lines = {}
    ends = [match.start() for match in re.finditer("\n", text)]

    def skip(at: int) -> int:
        match = _SPACE.match(text, at)
        return match.end() if match else at

    def walk(at: int, path: Path) -> int:
        at = skip(at)
        opening = text[at : at + 1]
        if opening not in ("{", "["):
            match = (_STRING if opening == '"' else _SCALAR).match(text, at)
            if match is None:
                raise ValueError("not JSON")
            return match.end()
        number, at = 0, skip(at + 1)
        while text[at : at + 1] not in ("}", "]"):
            key: str | int = number
            line = bisect(ends, at) + 1
            if opening == "{":
                match = _STRING.match(text, at)
                if match is None:
                    raise ValueError("not JSON")
                key, at = str(json.loads(match.group())), skip(match.end()) + 1
            lines[(*path, key)] = line
            at = skip(walk(at, (*path, key)))
            if text[at : at + 1] == ",":
                at = skip(at + 1)
            elif text[at : at + 1] not in ("}", "]"):
                raise ValueError("not JSON")
            number += 1
        return at + 1

    walk(0, ())
    return lines
