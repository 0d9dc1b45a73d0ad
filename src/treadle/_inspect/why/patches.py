"""The fix for a file that the person named: an edit of the one string that is shown to have built the text of a change.

A recorded run may be a stranger's, so its text says nothing about where to edit. Three things show that a string built
a prompt: the agent, built anew from the person's own program, has the text; the string stands where such texts are
written (an argument `system` or `instructions`, a tool's own docstring and descriptions, a value of a document, a whole
file of text); and a file that differs in anything but this string is not written.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from treadle._agent.agent import Agent
from treadle._inspect.why.changes import Change, parameter_texts
from treadle._inspect.why.findings import Cause
from treadle._safety.data import decode_yaml
from treadle._types.errors import ConfigError, TreadleError

_LARGEST = 1_000_000
"""Bytes. A prompt or a tool does not stand in a larger file."""
_PROMPTS = ("system", "instructions")
"""Arguments that build a system prompt."""
_ROLES = ("'system'", "'developer'")
"""Of the messages that do."""


def patch_for(change: Change, files: Sequence[Path], agent: Agent[Any, Any]) -> tuple[str, str]:
    """A unified diff and the file it is for; both empty when no string, or more than one, is shown to have built it."""
    edits = [
        (path, text, new)
        for path in dict.fromkeys(files)
        if (text := _read(path)) and (new := _new(text, change, path, agent)) is not None
    ]
    if len(edits) != 1:
        return "", ""
    path, text, new = edits[0]
    one, other = text.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(unified_diff(one, other, f"a/{path.name}", f"b/{path.name}")), str(path)


def apply_patch(cause: Cause, agent: Agent[Any, Any]) -> Path:
    """Make the change in the user's file. Refused when the file is not as it was when the patch was made."""
    path = Path(cause.file)
    new = _new(_read(path), cause.change, path, agent)
    if new is None or patch_for(cause.change, [path], agent)[0] != cause.patch:
        raise ConfigError(f"{path} has changed since the patch was made: nothing was written; search again")
    path.write_bytes(new.encode())
    return path


def _read(path: Path) -> str:
    """Read a file with its line ends unchanged; empty if it is too large or not text."""
    try:
        return path.read_bytes().decode() if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _new(text: str, change: Change, path: Path, agent: Agent[Any, Any]) -> str | None:
    """The file with the change; None where no single string of it is shown to have built the text."""
    built = _built(change, agent)
    if not change.before.strip() or not any(_words(change.before) in part for part in built):
        return None
    match path.suffix:
        case ".py":
            return _in_python(text, change, path, agent, built)
        case ".json" | ".yaml" | ".yml":
            new = _edit(text, change.before, change.after)
            return new if new is not None and _one_prompt_differs(text, new, path.suffix, built) else None
        case _:
            whole = change.kind == "prompt" and any(_words(text) in part for part in built)
            return _edit(text, change.before, change.after) if whole else None


def _built(change: Change, agent: Agent[Any, Any]) -> list[str]:
    """The texts that the change is about, as the person's own program builds them now."""
    if change.kind == "prompt" and not change.name:
        return [_words(text) for text in (agent.system, agent.instructions) if isinstance(text, str)]
    tool = agent.toolkit.get(change.name) if change.kind == "description" else None
    return [_words(text) for text in (tool.description, *parameter_texts(tool.schema))] if tool else []


def _words(text: str) -> str:
    return " ".join(text.split())


def _edit(text: str, before: str, after: str) -> str | None:
    """The text with the one place where `before` stands changed: whole lines, where the lines are only that text;
    indented here, they need not be in the prompt. A part of a word is another word."""
    wanted = [line.strip() for line in before.strip().splitlines()]
    pattern = r"\r?\n[ \t]*".join(re.escape(line) for line in wanted)
    pattern = r"(?<!\w)" * bool(re.match(r"\w", wanted[0])) + pattern + r"(?!\w)" * bool(re.search(r"\w$", wanted[-1]))
    matches = list(re.finditer(pattern, text))
    if len(matches) != 1:
        return None
    start, end = matches[0].span()
    if after:
        return text[:start] + after + text[end:]
    whole = re.search(rf"^[ \t]*{pattern}[ \t]*(?:\r?\n|\Z)", text, re.MULTILINE)
    match = whole or re.search(rf" ?{pattern}", text)
    return text if match is None else text[: match.start()] + text[match.end() :]


def _in_python(text: str, change: Change, path: Path, agent: Agent[Any, Any], built: Sequence[str]) -> str | None:
    """Edit the one string literal that built the text; the rest of the program stays the same program."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    if change.kind == "prompt":
        literals = [one for one in _prompt_literals(tree) if any(_words(str(one.value)) in part for part in built)]
    else:
        literals = list(_tool_literals(tree, path, agent, change.name))
    data = text.encode()
    edits: list[str] = []
    for literal in {id(one): one for one in literals}.values():
        start, end = (_offset(data, *place) for place in _span(literal))
        segment = _edit(data[start:end].decode(), change.before, change.after)
        new = None if segment is None else (data[:start] + segment.encode() + data[end:]).decode()
        if new is not None and _same_but(tree, literal, new):
            edits.append(new)
    return edits[0] if len(edits) == 1 else None


def _texts(node: ast.AST) -> Iterator[ast.Constant]:
    """Literals that are texts by themselves: the parts of an f-string have no place of their own in the file."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    elif not isinstance(node, ast.JoinedStr):
        for inner in ast.iter_child_nodes(node):
            yield from _texts(inner)


def _prompt_literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Literals in the arguments and messages that build a prompt, and in what is assigned to the names that stand
    there."""
    words = [word for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords]
    values = [word.value for word in words if word.arg in _PROMPTS]
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            message = {ast.unparse(key): value for key, value in zip(node.keys, node.values, strict=True) if key}
            if (role := message.get("'role'")) is not None and ast.unparse(role) in _ROLES and "'content'" in message:
                values.append(message["'content'"])
    names = {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    values += [node.value for node in assigned if names & {ast.unparse(target) for target in node.targets}]
    for value in values:
        yield from _texts(value)


def _tool_literals(tree: ast.Module, path: Path, agent: Agent[Any, Any], name: str) -> Iterator[ast.Constant]:
    """The docstring of the tool's function, and the descriptions in its decorators and annotations."""
    tool = agent.toolkit.get(name)
    function: Any = inspect.unwrap(tool.execute) if tool is not None else None
    code = getattr(function, "__code__", None)
    if code is None or Path(code.co_filename).resolve() != path.resolve():
        return
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
            continue
        if min(node.lineno, *(one.lineno for one in node.decorator_list)) != code.co_firstlineno:
            continue
        if isinstance(node.body[0], ast.Expr):
            yield from _texts(node.body[0].value)
        yield from _descriptions([*node.decorator_list, node.args])


def _descriptions(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in (inner for one in nodes for inner in ast.walk(one)):
        if isinstance(node, ast.keyword) and node.arg == "description":
            yield from _texts(node.value)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Annotated"):
            parts = node.slice.elts[1:] if isinstance(node.slice, ast.Tuple) else []
            yield from (part for part in parts if isinstance(part, ast.Constant))


def _span(node: ast.Constant) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _offset(data: bytes, line: int, column: int) -> int:
    """Where a place of the syntax tree is in the file: its columns are counted in bytes."""
    return sum(map(len, data.splitlines(keepends=True)[: line - 1])) + column


def _same_but(tree: ast.Module, literal: ast.Constant, new: str) -> bool:
    """Return whether the new program is the old one with another text in this literal, and nothing else."""
    try:
        other = list(ast.walk(ast.parse(new)))
    except (SyntaxError, ValueError):
        return False
    nodes = list(ast.walk(tree))
    place = next(index for index, node in enumerate(nodes) if node is literal)
    twin = other[place] if len(other) == len(nodes) else None
    if not isinstance(twin, ast.Constant) or not isinstance(twin.value, str) or twin.value == literal.value:
        return False
    twin.value = literal.value
    return ast.dump(nodes[0]) == ast.dump(other[0])


def _one_prompt_differs(text: str, new: str, suffix: str, built: Sequence[str]) -> bool:
    """Return whether two documents differ in one text only, which is a prompt as a whole."""
    try:
        read = json.loads if suffix == ".json" else decode_yaml
        one, other = dict(_leaves(read(text))), dict(_leaves(read(new)))
    except (ValueError, TreadleError):  # also where nothing can read YAML here
        return False
    changed = [place for place in one if one[place] != other.get(place)]
    if one.keys() != other.keys() or len(changed) != 1:
        return False
    before, after = one[changed[0]], other[changed[0]]
    return isinstance(before, str) and isinstance(after, str) and _words(before) in built


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inner: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        inner = cast("dict[Any, Any]", value).items()
    elif isinstance(value, list):
        inner = enumerate(cast("list[Any]", value))
    else:
        yield place, value
        return
    yield place, type(cast("object", value)).__name__
    for key, one in inner:
        yield from _leaves(one, (*place, key))
