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
from markdown_tables import cell, code, doc, own_table, rows_of

from treadle._cli.setup.user_config import UserConfig
from treadle._config import document as document_module
from treadle._engine.prompt_names import PROMPTS
from treadle._models import script_file
from treadle._models.catalog.providers import PROVIDERS
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
DOCUMENT_KINDS = ("Document", "Component", "Obj", "AgentParams", "Prompt", "ToolRef", "McpRef", "McpServer")


def tools_page(note: str) -> str:
    names = sorted(BUILTINS)
    rows = [(f"[`{name}`](#{name})", cell(BUILTINS[name])) for name in names]
    overview = rows_of(("tool", "what it does"), rows)
    return note + words.TOOLS + overview + "".join(_builtin_text(name) for name in names)


def _builtin_text(name: str) -> str:
    factory = builtin_factory(name)
    made = factory(**EXAMPLE_PARAMETERS.get(name, {}))
    parameters = inspect.signature(factory).parameters.values()
    rows = [
        (code(given.name), code(str(given.annotation).strip("'\"")), _default(given))
        for given in parameters
        if given.name != "client"  # for tests
    ]
    text = inspect.cleandoc(factory.__doc__ or "")
    parts = [f"\n## {name}\n\n{BUILTINS[name]}.\n\n", f"{text}\n\n" if text else ""]
    parts.append(rows_of(("parameter", "type", "default"), rows))
    parts += [_tool_text(tool) for tool in (made if isinstance(made, list) else [made])]
    return "".join(parts)


def _default(parameter: inspect.Parameter) -> str:
    return "needed" if parameter.default is inspect.Parameter.empty else code(repr(parameter.default))


def _tool_text(tool: Tool) -> str:
    flags = [f"effect `{tool.effect}`"]
    if tool.untrusted:
        flags.append("results come from outside")
    if tool.approval != "allow":
        flags.append(f"approval `{tool.approval}`")
    text = " ".join(tool.description.split())
    said = f"\nThe model sees **`{tool.name}`** ({', '.join(flags)}):\n\n> {text}\n\n"
    required = tool.parameters.get("required", [])
    rows = [
        (
            code(name),
            code(_type(shape)),
            "needed" if name in required else code(repr(shape.get("default"))),
            cell(" ".join(str(shape.get("description", "")).split())) or "as it is called",
        )
        for name, shape in tool.parameters.get("properties", {}).items()
    ]
    return said + rows_of(("argument", "type", "default", "meaning"), rows)


def _type(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return " | ".join(map(repr, shape["enum"]))
    if "anyOf" in shape:
        return " | ".join(_type(part) for part in shape["anyOf"])
    kind = str(shape.get("type", "any"))
    return f"array of {_type(shape['items'])}" if kind == "array" and "items" in shape else kind


def prompts_page(note: str) -> str:
    table = rows_of(("name", "what it is"), [(code(name), cell(text)) for name, text in PROMPTS.items()])
    return note + words.PROMPTS + table + words.AFTER_PROMPTS


def files_page(note: str) -> str:
    text = (script_file.__doc__ or "").strip()
    before, example, after = re.split(r"\n\n(?=    )|\n\n(?=and an)", text, maxsplit=2)
    fields = ", ".join(code(name) for name in script_file._FIELDS)
    parts = [
        note + words.DEFAULTS + own_table(UserConfig) + "\n## Scripts\n\n",
        f"{before}\n\n```text\n{inspect.cleandoc(example)}\n```\n\n{after}\n\n",
        own_table(script_file.Script) + f"\nFields of a reply that is an object: {fields}.\n" + words.AGENTS,
    ]
    kinds = [getattr(document_module, name) for name in DOCUMENT_KINDS]
    parts += [f"\n### {kind.__name__}\n\n" + doc(kind) + own_table(kind) for kind in kinds]
    return "".join(parts)


def environment_page(note: str) -> str:
    read, described = variables_read(), set(words.VARIABLES)
    if read != described:
        raise LookupError(
            f"reference_words.py, VARIABLES: no words for {read - described}, not read {described - read}"
        )
    rows = [(code(name), cell(text)) for name, text in words.VARIABLES.items()]
    providers = [provider for name, provider in PROVIDERS.items() if name == provider.name]
    keys = [
        (
            code(provider.name),
            " or ".join(code(name) for name in (provider.key_env, provider.also_key_env) if name) or "none",
            code(provider.base_env) or "none",
        )
        for provider in providers
    ]
    return (
        note
        + words.ENVIRONMENT
        + rows_of(("variable", "meaning"), [*rows, (f"`{words.PROXIES}`", "the proxy for requests to models")])
        + "\n## Keys and addresses of providers\n\n"
        + rows_of(("provider", "key", "another address"), keys)
        + words.SECRETS
    )


def variables_read() -> set[str]:
    """The variables that the source reads by name: `os.environ.get("NAME")`, `env["NAME"]`, `required_setting(value,
    "NAME")`."""
    trees = (ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py")))
    return {name for tree in trees for node in ast.walk(tree) for name in _variable(node)}


def _variable(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ENVIRONMENTS:
        names = [node.slice]
    elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) in ENVIRONMENTS:
        names = [node.left]
    elif isinstance(node, ast.Call):
        called, _, method = ast.unparse(node.func).rpartition(".")
        reads = (called in ENVIRONMENTS and method in ("get", "setdefault")) or (called, method) == ("os", "getenv")
        place = 0 if reads else 1 if method == "required_setting" else 99
        names = node.args[place : place + 1]
    else:
        return
    yield from (name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str))


_SHOWN = (bodies.__name__, content.__name__)


def http_page(note: str) -> str:
    rows = []
    for operation in OPERATIONS:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        takes = ", ".join(_linked(kind) for kind in (operation.body, operation.query) if kind is not None)
        rows.append((code(f"{operation.method} {path}"), cell(operation.summary), takes or "nothing"))
    used = {kind for operation in OPERATIONS for kind in (operation.body, operation.query) if kind is not None}
    used |= {bodies.RunSettings, bodies.PastMessage, bodies.ClientTool, content.TextItem, content.ImageItem}
    shown = sorted((kind for kind in used if kind.__module__ in _SHOWN), key=lambda kind: kind.__name__)
    parts = [
        note + words.HTTP + rows_of(("operation", "what it does", "takes"), rows),
        words.STREAM + rows_of(("event", "meaning", "fields"), _stream_events()),
        "\n## Bodies and queries\n",
        *(f"\n### {kind.__name__}\n\n" + doc(kind) + own_table(kind) for kind in shown),
    ]
    return "".join(parts)


def _linked(kind: type[Any]) -> str:
    name = kind.__name__
    return f"[{name}](#{name.lower()})" if kind.__module__ in _SHOWN else f"`{name}`"


def _stream_events() -> list[tuple[str, str, str]]:
    return [
        (code(name), text, " ".join(map(code, words.STREAM_FIELDS[name].split())))
        for name, text in words.STREAM_EVENTS.items()
    ]


PAGES: dict[str, Callable[[str], str]] = {
    "tools.md": tools_page,
    "prompts.md": prompts_page,
    "files.md": files_page,
    "environment.md": environment_page,
    "http.md": http_page,
}
