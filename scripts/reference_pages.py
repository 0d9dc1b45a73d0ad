"""Reference pages of what people configure: built-in tools, prompts, files, environment variables, the HTTP API.

Everything comes from the source. Where the source has no words for something (an environment variable, the name of an
event of the stream), they stand in `reference_words.py`, and a new one without words fails: no page is incomplete.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import reference_words as words
from markdown_tables import argument, code, described, doc, items_of, own_list

from treadle._cli.setup.user_config import UserConfig
from treadle._config import document as document_module
from treadle._engine.prompt_names import PROMPTS
from treadle._models import script_file
from treadle._server.api import bodies, content
from treadle._server.app import OPERATIONS
from treadle._tools.base import Tool
from treadle._tools.builtin import BUILTINS, builtin_factory

SOURCE = Path(__file__).resolve().parent.parent / "src" / "treadle"
EXAMPLE_PARAMETERS: dict[str, dict[str, Any]] = {
    "a2a": {"url": "https://agents.example.org/a2a/shop"},
    "files": {"folder": "."},
    "openapi": {
        "document": {"openapi": "3.1.0", "paths": {"/orders/{id}": {"get": {"operationId": "get_order"}}}},
        "server": "https://api.example.org",
    },
    "retrieval": {"path": "papers.db"},
    "sql": {"url": "sqlite:///shop.db"},
}
"""What the built-ins that need a parameter are made with, so that their tools can be described."""
ENVIRONMENTS = {"os.environ", "environ", "env", "self._env"}
"""What the source calls the variables of the environment: tests give some of it others."""
READS = re.compile(r"\b(environ|_?env|getenv|required_setting)\b")
DOCUMENT_KINDS = ("Document", "Component", "Obj", "AgentParams", "Prompt", "ToolRef", "McpRef", "McpServer")


def tools_page(note: str) -> str:
    return note + words.TOOLS + "".join(_builtin_text(name) for name in sorted(BUILTINS))


def _builtin_text(name: str) -> str:
    factory = builtin_factory(name)
    made = factory(**EXAMPLE_PARAMETERS.get(name, {}))
    parameters = inspect.signature(factory).parameters.values()
    rows = [
        argument(given.name, str(given.annotation).strip("'\""), _default(given))
        for given in parameters
        if given.name != "client"  # for tests
    ]
    text = inspect.cleandoc(factory.__doc__ or "")
    if text.partition(".")[0].lower().startswith(BUILTINS[name].split()[0].lower()):
        text = ""  # it says the same
    said_below = not isinstance(made, list) and "(" not in BUILTINS[name]
    parts = [f"\n## {name}\n\n", "" if said_below else f"{BUILTINS[name]}.\n\n", f"{text}\n\n" if text else ""]
    parts.append(f"Parameters: `{'`, `'.join(rows)}`.\n" if rows else "")
    parts += [_tool_text(tool) for tool in (made if isinstance(made, list) else [made])]
    return "".join(parts)


def _default(parameter: inspect.Parameter) -> str:
    shown = "" if parameter.default is inspect.Parameter.empty else repr(parameter.default)
    return shown if len(shown) < 60 else "..."  # the description of a tool stands below


def _tool_text(tool: Tool) -> str:
    flags = [f"`{tool.effect}`", *(["`untrusted`"] if tool.untrusted else [])]
    if tool.approval != "allow":
        flags.append(f"approval `{tool.approval}`")
    required = tool.parameters.get("required", [])
    given = [
        name if name in required else f"{name}={shape.get('default')!r}"
        for name, shape in tool.parameters.get("properties", {}).items()
    ]
    text = " ".join(tool.description.split())
    return f"\n`{tool.name}({', '.join(given)})` ({', '.join(flags)}):\n\n> {text}\n"


def prompts_page(note: str) -> str:
    names: dict[str, list[str]] = {}
    for name, text in PROMPTS.items():
        names.setdefault(text, []).append(code(name))
    return (
        note + words.PROMPTS + items_of((", ".join(same), text) for text, same in names.items()) + words.AFTER_PROMPTS
    )


def files_page(note: str) -> str:
    text = (script_file.__doc__ or "").strip()
    before, example, after = re.split(r"\n\n(?=    )|\n\n(?=and an)", text, maxsplit=2)
    fields = ", ".join(code(name) for name in script_file._FIELDS)
    parts = [
        note + words.DEFAULTS + own_list(UserConfig) + "\n## Scripts\n\n",
        f"{before}\n\n```text\n{inspect.cleandoc(example)}\n```\n\n{after}\n\n",
        own_list(script_file.Script) + f"\nFields of a reply that is an object: {fields}.\n" + words.AGENTS,
    ]
    kinds = [getattr(document_module, name) for name in DOCUMENT_KINDS]
    parts += [f"\n### {kind.__name__}\n\n" + doc(kind) + own_list(kind) for kind in kinds]
    return "".join(parts)


def environment_page(note: str) -> str:
    read, described = variables_read(), set(words.VARIABLES)
    if read != described:
        raise LookupError(
            f"reference_words.py, VARIABLES: no words for {read - described}, not read {described - read}"
        )
    rows = [(code(name), text) for name, text in words.VARIABLES.items()]
    proxies = (f"`{words.PROXIES}`", "the proxy for requests to models")
    return note + words.ENVIRONMENT + items_of([*rows, proxies]) + words.SECRETS


def variables_read() -> set[str]:
    """The variables that the source reads by name: `os.environ.get("NAME")`, `env["NAME"]`, `required_setting(value,
    "NAME")`."""
    sources = (path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py")))
    trees = (ast.parse(source) for source in sources if READS.search(source))
    return {name for tree in trees for node in ast.walk(tree) for name in _variable(node)}


def _variable(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=str(name))) if ast.unparse(value) in ENVIRONMENTS:
            yield name
        case ast.Compare(left=ast.Constant(value=str(name)), comparators=[*_, value]):
            if ast.unparse(value) in ENVIRONMENTS:
                yield name
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[ast.Constant(value=str(name)), *_]):
            called = ast.unparse(value)
            if (called in ENVIRONMENTS and method in ("get", "setdefault")) or (called, method) == ("os", "getenv"):
                yield name
        case ast.Call(func=function, args=[_, ast.Constant(value=str(name)), *_]):
            if ast.unparse(function).rpartition(".")[2] == "required_setting":
                yield name
        case _:
            pass


_SHOWN = (bodies.__name__, content.__name__)


def http_page(note: str) -> str:
    used = {kind for one in OPERATIONS for kind in (one.body, one.query) if kind and kind.__module__ in _SHOWN}
    used |= {bodies.RunSettings, bodies.PastMessage, bodies.ClientTool, content.TextItem, content.ImageItem}
    rows: list[str] = []
    for operation in OPERATIONS:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        takes = "".join(_taken(kind) for kind in (operation.body, operation.query) if kind in used)
        rows.append(f"- `{operation.method} {path}`{takes}: {operation.summary}\n")
    parts = [
        note + words.HTTP + "".join(rows),
        words.STREAM + items_of(_stream_events()),
        "\n## Bodies and queries\n",
    ]
    shown = sorted((kind for kind in used if not _is_short(kind)), key=lambda kind: kind.__name__)
    parts += [f"\n### {kind.__name__}\n\n" + doc(kind) + own_list(kind) for kind in shown]
    return "".join(parts)


def _is_short(kind: type[Any]) -> bool:
    return len(described(kind)) == 1


def _taken(kind: type[Any]) -> str:
    """What an operation takes: its one field here, several below."""
    if not _is_short(kind):
        return f" with [{kind.__name__}](#{kind.__name__.lower()})"
    row = described(kind)[0]
    said = f" ({row.description.rstrip('.')})" if row.description else ""
    return f" with `{argument(row.name, row.kind, row.default)}`{said}"


def _stream_events() -> list[tuple[str, str]]:
    return [(code(name), f"{text} (`{words.STREAM_FIELDS[name]}`)") for name, text in words.STREAM_EVENTS.items()]


PAGES: dict[str, Callable[[str], str]] = {
    "tools.md": tools_page,
    "prompts.md": prompts_page,
    "files.md": files_page,
    "environment.md": environment_page,
    "http.md": http_page,
}
