"""The page docs/reference/api.md: every public name with its signature and docstring, read from the source."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from markdown_tables import argument, plain_type

SOURCE = Path(__file__).resolve().parent.parent / "src" / "treadle"
MODULES = ("treadle", "treadle.events", "treadle.interop", "treadle.messages", "treadle.plugins", "treadle.testing")
EVENTS = "events.md"
ERRORS = "errors.md"
OTHER_PAGES = {
    "_types.events": EVENTS,
    "_types.control_events": EVENTS,
    "_types.dag_events": EVENTS,
    "_types.intent": EVENTS,
    "_types.workspace_events": EVENTS,
    "_types.errors": ERRORS,
    "_engine.settings": "settings.md",
    "_server.settings": "settings.md",
    "_models.transport.retry": "settings.md",
}
"""Pages that have the fields of these modules' values."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.Module
ALIKE = (("OpenAIModel", "AnthropicModel", "GeminiModel", "ResponsesModel"), ("serve", "make_server"))
"""Names with the same parameters as the first one."""
_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z`])")
MAX_WIDTH = 100
NOT_SHOWN = {
    "Agent": "begin model",
    "AnthropicModel": "searches_tools",
    "DagAgent": "choices part work partial_answer findings metadata inside launch",
    "HttpModel": "address connection at_home body_of reader_of searches_tools meet contact untried refused_tools tried "
    "with_every_ability aclose name provider profile stream",
    "Journal": "append summarise claim release is_driven put take recall note_request noted_requests forget_request "
    "spent spend",
    "LocalModel": "needs_download isolate read_ahead with_defaults body provider",
    "McpAuth": "secrets",
    "McpPeer": "__init__ output flush",
    "McpPrompt": "missing",
    "McpResource": "values_in is_template",
    "McpServer": "changed listed as_tool auth tool",
    "McpTools": "from_settings",
    "MemoryStore": "add",
    "OpenAIModel": "media",
    "Profile": "decides_in small assisted tuned with_tuning reviewed with_parameters",
    "ResponsesModel": "searches_tools",
    "Run": "__init__ blueprint sign begin decisions decide swap_toolkit abandon forward has_parent begun context "
    "listens stop",
    "RunContext": "__init__ reply_policy plugin_tools allowed_for_run counts_tokens mask_of replace_toolkit "
    "nested_calls estimator ask_after next_request_tokens why_asked",
    "RunResult": "leftovers keys",
    "ScriptedModel": "keep",
    "SettingGroup": "changes",
    "TextDialect": "system reformat watch assistant results",
    "TemporalSubmitter": "wake",
    "Tool": "act declares_act failure marked_unsafe all_names",
    "ToolParam": "needed",
    "Toolkit": "nearest",
    "ToolSpec": "described",
    "Usage": "bounded",
    "Value": "to_dict to_json from_dict from_json",
    "Workspace": "machine objects",
    "presets": "settings_for takes_back takes_files plugins_for memory_stores local_user",
}
"""Members that only the engine calls, old names, and what the top of the page says of all values."""


def api_page(note: str) -> str:
    parts = [
        note + "# Public API\n\n"
        "Every public name. These do not change without a note in the changelog; modules and names that begin with an "
        "underscore may change in any release.\n\n"
        "`name=value` is of the type of that value, `...` a default of its own. A path may be "
        "a `Path`. `**options` are [settings](settings.md). Messages, events, results and what is inside them have "
        "`to_dict`, `to_json`, `from_dict` and `from_json`. What has `aclose()` can be used with `async with`. "
        "Examples are in the [how-tos](../howto/index.md).\n"
    ]
    first_seen: dict[tuple[str, str], str] = {}
    for module in MODULES:
        first, _, more = docstring(_tree(module)).partition("\n\n")
        parts.append(f"\n## {module}\n\n" + (f"{first}\n\n{more}\n" if more and ">>>" in more else f"{first}\n"))
        entries: list[str] = []
        elsewhere: list[str] = []
        for name, location in sorted(public_names(module).items(), key=lambda item: (item[0].lower(), item[0])):
            home = first_seen.setdefault((name, location), module)
            page = "" if home != module else _page_of(name, location)
            if home == "treadle.events" and page == EVENTS:
                continue  # `events.md` has it whole
            if page or home != module:
                elsewhere.append(f"[`{name}`]({page}#{'errors' if page == ERRORS else name.lower()})")
            else:
                entries.append(f"\n### {name}\n\n{entry(name, location)}")
        if elsewhere:
            parts.append(f"\nDescribed elsewhere: {', '.join(elsewhere)}.\n")
        parts += entries
    return "".join(parts)


def _page_of(name: str, location: str) -> str:
    """The page that has the fields of a value, if that is another one."""
    node, location = definition(name, location)
    if not isinstance(node, ast.ClassDef) or (location == "_types.errors" and _init(node, location)[1] == name):
        return ""  # `errors.md` has no parameters
    return OTHER_PAGES.get(location, "")


def public_names(module: str) -> dict[str, str]:
    """The public names of a module, each with the private module it comes from: what the module re-exports."""
    names: dict[str, str] = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treadle._"):
            location = str(node.module).removeprefix("treadle.")
            names |= {alias.name: location for alias in node.names if location not in ("_lazy", "_version")}
    return names


def entry(name: str, location: str) -> str:
    node, location = definition(name, location)
    text = docstring(node)
    page = OTHER_PAGES.get(location, "")
    if isinstance(node, ast.Module):
        return text + "\n\n" + "".join(f"- `{line}`\n" for line in _functions(name, node))
    if isinstance(node, ast.Assign) and page == EVENTS and "Union" in ast.unparse(node.value):
        return f"{text}\n\nAll of them: [events]({EVENTS}).\n"
    if isinstance(node, ast.Assign):
        return f"{_block(f'{name} = {ast.unparse(node.value)}')}\n{text or ''}\n".rstrip() + "\n"
    same = next((other[0] for other in ALIKE if name in other[1:]), "")
    if not isinstance(node, ast.ClassDef):
        head = f"{name}(...)  # as {same}" if same else _signature(name, node)
        return f"{_block(head)}\n{_what_to_know(text, node)}\n"
    return _class_entry(name, node, location, text, same)


def _class_entry(name: str, node: ast.ClassDef, location: str, text: str, same: str) -> str:
    bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
    init, owner = _init(node, location)
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    if node.bases and name.endswith("Error") and owner != name:
        head = ""  # the tree of errors says of what kind it is
    elif "__init__" in NOT_SHOWN.get(name, ""):
        head = ""
    elif init is not None and owner != name and owner in all_public_names():
        head = f"class {name}({owner})"
    elif same:
        head = f"{name}(...)  # as {same}"
    elif init is not None:
        head = _signature(name, init, method=True)
    elif fields and {"Struct", "Value"} & set(bases):
        head = _call(name, [_field(item) for item in fields])
    else:
        head = ""
    members = list(_all_members(node, location))
    if name != "Plugin":  # its hooks are for the engine to call
        hooks = {_name(line) for line, _ in _members(_plugin())}
        members = [(line, words) for line, words in members if _name(line) not in hooks]
    told = {name for base in bases for name in _names_of(base)} | (_names_of("Model") if name != "Model" else set())
    members = [
        (line, words) for line, words in members if (words or _name(line) not in told) and _is_shown(name, _name(line))
    ]
    rows = _list(members)
    words = _what_to_know(text, init or node)
    whose, _, purpose = docstring(_tree(f"treadle.{location}")).partition("\n\n")[0].partition(": ")
    if whose == name:  # the module says what it is for, the class how
        words = f"{purpose[0].upper()}{purpose[1:]} {words}"
    return f"{_block(head) if head else ''}\n{words}\n".lstrip("\n") + ("\n" + rows if rows else "")


def _what_to_know(text: str, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The first paragraph of a docstring and what is said of parameters: reasons are in the source, examples in the
    how-tos."""
    if isinstance(node, ast.ClassDef):
        names = {ast.unparse(item.target) for item in node.body if isinstance(item, ast.AnnAssign)}
    else:
        given = node.args
        names = {arg.arg for arg in (*given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg)))}
    first, *more = text.split("\n\n")
    said = [part for part in more if not part.startswith(("```", " "))]
    kept = [part for part in said if part[0] == "`" or any(f"`{name}" in part for name in names)]
    return "\n\n".join([first, *kept])


def _field(item: ast.AnnAssign) -> str:
    assert isinstance(item.target, ast.Name)
    return argument(item.target.id, ast.unparse(item.annotation), ast.unparse(item.value) if item.value else "")


def _list(members: Iterable[tuple[str, str]]) -> str:
    rows = list(members)
    plain = ", ".join(f"`{line}`" for line, words in rows if not words)
    told = "".join(f"- `{line}`: {words}\n" for line, words in rows if words)
    return told + (f"- {plain}\n" if plain else "")


def _init(node: ast.ClassDef, location: str) -> tuple[ast.FunctionDef | None, str]:
    """The constructor of a class and whose it is: its own or one that it inherits here; never an overload of it."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__" and not _is_overload(item):
            return item, node.name
    for base in node.bases:
        if (
            isinstance(base, ast.Name)
            and base.id[0].isupper()
            and base.id
            not in (
                "Struct",
                "Protocol",
                "Exception",
                "TypeError",
                "ValueError",
            )
        ):
            parent, parent_location = definition(base.id, location)
            if isinstance(parent, ast.ClassDef) and (found := _init(parent, parent_location))[0]:
                return found
    return None, ""


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return "overload" in {ast.unparse(mark) for mark in node.decorator_list}


def _all_members(node: ast.ClassDef, location: str) -> Iterator[tuple[str, str]]:
    """The members of a class and those it has from classes that are described nowhere else."""
    seen = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    yield from _members(node)
    for parent, parent_location in _private_bases(node, location):
        inherited = _all_members(parent, parent_location)
        yield from ((line, words) for line, words in inherited if _name(line) not in seen)


def _private_bases(node: ast.ClassDef, location: str) -> Iterator[tuple[ast.ClassDef, str]]:
    """The classes of Treadle that a class is made from and that are not public."""
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base  # Base[Output]
        if not isinstance(name, ast.Name) or name.id in all_public_names():
            continue
        try:
            parent, parent_location = definition(name.id, location)
        except (LookupError, FileNotFoundError):  # a class of Python or of a library
            continue
        if isinstance(parent, ast.ClassDef):
            yield parent, parent_location


def _name(line: str) -> str:
    """The name of a member, from the line that shows it."""
    return re.split(r"\W", line.removeprefix("async "))[0]


@cache
def _names_of(public: str) -> set[str]:
    """The members of a public class: where another one has them, too, without words, they mean the same."""
    location = next((names[public] for names in map(public_names, MODULES) if public in names), "")
    if not location:
        return set()
    node, location = definition(public, location)
    return {_name(line) for line, _ in _all_members(node, location)} if isinstance(node, ast.ClassDef) else set()


@cache
def _plugin() -> ast.ClassDef:
    node, _ = definition("Plugin", public_names("treadle.plugins")["Plugin"])
    assert isinstance(node, ast.ClassDef)
    return node


@cache
def all_public_names() -> frozenset[str]:
    return frozenset(name for module in MODULES for name in public_names(module))


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The public methods and properties, each with the first sentence of its docstring."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and _is_shown(node.name, item.name):
            words = _SENTENCE.split(" ".join(docstring(item).partition("\n\n")[0].split()))[0].removeprefix("Return ")
            words = words[:1].upper() + words[1:]
            marks = {ast.unparse(mark) for mark in item.decorator_list}
            if "property" in marks:
                yield argument(item.name, ast.unparse(item.returns) if item.returns else "", ""), words
            else:
                yield _signature(item.name, item, method="staticmethod" not in marks, short=True), words


def _is_shown(owner: str, name: str) -> bool:
    return not name.startswith("_") and name not in NOT_SHOWN.get(owner.lstrip("_"), "").split()


def _functions(name: str, tree: ast.Module) -> Iterator[str]:
    for item in tree.body:
        if isinstance(item, ast.FunctionDef) and _is_shown(name, item.name):
            yield f"{name}.{_signature(item.name, item, short=True)}"


def definition(name: str, location: str) -> tuple[Definition, str]:
    """Where a name is defined: its node, and the module that has it, which may not be the one that re-exports it."""
    tree = _tree(f"treadle.{location}")
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            if _is_overload(node):
                continue
            return node, location
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return node, location
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return definition(name, node.module.removeprefix("treadle."))
    if _path(f"treadle.{location}.{name}").exists():
        return _tree(f"treadle.{location}.{name}"), f"{location}.{name}"
    raise LookupError(f"treadle.{location} does not define {name}")


def docstring(node: Definition) -> str:
    if isinstance(node, ast.Assign):  # the string under a module's constant
        body = _parent_body(node)
        after = body[body.index(node) + 1] if body.index(node) + 1 < len(body) else None
        value = after.value if isinstance(after, ast.Expr) else None
        return str(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    before, example, rest = text.partition(">>> ")
    return f"{before.rstrip()}\n\n```pycon\n>>> {rest}\n```" if example and "\n\n" not in rest else _fenced(text)


def _fenced(text: str) -> str:
    """Examples inside a docstring as blocks of code."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in paragraphs)


def _parent_body(node: ast.Assign) -> list[ast.stmt]:
    return next(tree.body for tree in _TREES if node in tree.body)


def _signature(
    name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool = False, short: bool = False
) -> str:
    """A call with its parameters, and what it returns; `short` is one line, without the types of the parameters."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    texts = [_argument(arg, default, typed=not short) for arg, default in zip(positional, defaults, strict=True)]
    if given.posonlyargs:
        texts.insert(len(given.posonlyargs), "/")
    if method:
        texts = texts[1:]
    if given.vararg:
        texts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        texts.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    texts += [_argument(arg, default, typed=not short) for arg, default in named]
    if given.kwarg:
        texts.append(f"**{given.kwarg.arg}")
    returns = plain_type(ast.unparse(node.returns)) if node.returns else "None"
    result = "" if returns == "None" else f" -> {returns}"
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return _call(f"{prefix}{name}", texts, result, 10_000 if short else MAX_WIDTH)


def _argument(arg: ast.arg, default: ast.expr | None = None, *, typed: bool = True) -> str:
    kind = ast.unparse(arg.annotation) if arg.annotation and typed else ""
    value = ast.unparse(default) if default else ""
    return argument(arg.arg, kind, "..." if value.startswith(("NO_", "_NOT", "UN", "msgspec")) else value)


def _call(name: str, arguments: list[str], result: str = "", width: int = MAX_WIDTH) -> str:
    flat = f"{name}({', '.join(arguments)}){result}"
    if len(flat) <= width:
        return flat
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def _block(text: str) -> str:
    return f"```text\n{text}\n```\n" if "\n" in text else f"`{text}`\n"


_TREES: list[ast.Module] = []


@cache
def _tree(module: str) -> ast.Module:
    tree = ast.parse(_path(module).read_text("utf-8"))
    _TREES.append(tree)
    return tree


def _path(module: str) -> Path:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
