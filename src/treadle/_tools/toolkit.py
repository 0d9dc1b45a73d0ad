"""A set of tools with unique names. `filtered`, `prefixed`, `approved` and `+` give a new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, cast, get_args, get_origin, get_type_hints

from treadle._tools.base import Approval, Effect, Tool
from treadle._tools.function import tool as make_tool
from treadle._tools.other_engines import tool_of, tools_in
from treadle._tools.validation import check_name, check_schema
from treadle._types.errors import ConfigError, DuplicateToolError
from treadle._types.request import ToolSchema

_ACCEPTED = (
    "a Tool, a BaseTool instance, a function, the name of a built-in tool, an object with as_tool() such as an agent, "
    "an OpenAPI document, or a tool of LangChain, pydantic-ai, openai-agents or smolagents"
)


class MakesTool(Protocol):
    """A `BaseTool`, an agent, or anything else that can be asked for a tool."""

    def as_tool(self) -> Tool: ...


ToolLike = Tool | MakesTool | Callable[..., Any] | str
"""What a toolkit takes: a string is the name of a built-in tool."""


class Toolkit:
    """The tools of an agent, in the order they were registered.

    kit = Toolkit([read_file, write_file])
    safe = kit.filtered(["read_file"]) + kit.filtered(["write_file"]).approved("ask")
    """

    def __init__(self, tools: Iterable[object] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._schemas: tuple[ToolSchema, ...] | None = None
        self.needs_deps: dict[str, str] = {}
        """Tools that need `deps` of their run, and of which type."""
        if not isinstance(tools, (list, tuple)) and (problem := _no_list(tools)):
            raise ConfigError(problem)
        for item in tools:
            for each in builtin_tools(item) if isinstance(item, str) else tools_in(item):
                self.register(each)

    @classmethod
    def of(cls, *items: object) -> Toolkit:
        """A toolkit of functions, tools, those of other engines, and OpenAPI documents, one by one or in lists."""
        groups = (cast("Iterable[object]", one) if isinstance(one, (list, tuple, Toolkit)) else [one] for one in items)
        return cls([each for group in groups for each in group])

    def register(self, item: object) -> Tool:
        """Add a tool, or anything that can be made one. Can be used as a decorator."""
        tool = _as_tool(item)
        check_name(tool.name)
        check_schema(tool.parameters, tool.name)
        _check_policy(tool)
        if tool.name in self._tools:
            raise DuplicateToolError(f"two tools are named {tool.name!r}: rename one, or use toolkit.prefixed('...')")
        self._tools[tool.name] = tool
        self._schemas = None
        if tool.needs_deps:
            self.needs_deps[tool.name] = tool.needs_deps
        return tool

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The schemas that the model is shown."""
        if self._schemas is None:
            self._schemas = tuple(tool.schema for tool in self)
        return self._schemas

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """The names most similar to `name`, best first."""
        folded = {tool_name.casefold(): tool_name for tool_name in self._tools}
        # Comparing is quadratic in the length, and a model may write any name.
        from difflib import get_close_matches

        return [folded[match] for match in get_close_matches(name[:64].casefold(), folded, count, 0.5)]

    def filtered(self, keep: Iterable[str] | Callable[[Tool], bool]) -> Toolkit:
        """Only the tools with these names, or those a predicate keeps."""
        if callable(keep):
            return Toolkit(tool for tool in self if keep(tool))
        names = self._existing(keep)
        return Toolkit(tool for tool in self if tool.name in names)

    def prefixed(self, prefix: str) -> Toolkit:
        """The same tools, each name with `prefix` in front (`"github_"`)."""
        return Toolkit(tool.replace(name=prefix + tool.name) for tool in self)

    def approved(self, policy: Approval, names: Iterable[str] | None = None) -> Toolkit:
        """The same tools; all of them, or those in `names`, with this approval policy."""
        chosen = set(self._tools) if names is None else self._existing(names)
        return Toolkit(tool.replace(approval=policy) if tool.name in chosen else tool for tool in self)

    def _existing(self, names: Iterable[str]) -> set[str]:
        chosen = {names} if isinstance(names, str) else set(names)
        for name in sorted(chosen - self._tools.keys()):
            near = self.nearest(name)
            hint = f"did you mean: {', '.join(near)}?" if near else f"expected one of: {', '.join(self.names[:20])}"
            raise ConfigError(f"there is no tool {name!r} in this toolkit; {hint}")
        return chosen

    def __add__(self, other: Iterable[object]) -> Toolkit:
        return Toolkit([*self, *other])

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"Toolkit({', '.join(self._tools)})"


def toolkit_of(tools: Iterable[ToolLike] | None) -> Toolkit:
    """The toolkit an agent is given; without tools it only talks."""
    if isinstance(tools, Toolkit):
        return tools
    if isinstance(tools, str):
        raise ConfigError(f"tools is a list: write tools=[{tools!r}]")
    return Toolkit(tools or ())


def builtin_tools(name: str) -> list[Tool]:
    """The built-in tool of this name, or the tools it stands for (`files`: the current folder, read-only)."""
    from treadle._tools.builtin import DEFAULT_PARAMETERS, builtin

    made = builtin(name, **DEFAULT_PARAMETERS.get(name, {}))
    return made if isinstance(made, list) else [made]


def makes_tools(value: object) -> bool:
    """Tell from its annotation whether a function returns tools and is not one (`-> list[Tool]`, `-> Toolkit`)."""
    if isinstance(value, (Tool, type)) or not callable(value):
        return False
    try:
        returned: Any = get_type_hints(value).get("return")
    except (NameError, TypeError):  # an annotation that cannot be resolved says nothing
        return False
    if returned is Toolkit:
        return True
    collection, items = get_origin(returned), get_args(returned)
    if not (isinstance(collection, type) and issubclass(collection, Iterable) and items and isinstance(items[0], type)):
        return False
    item = cast("type[Any]", items[0])
    return issubclass(item, Tool) or hasattr(item, "as_tool")


def _as_tool(item: object) -> Tool:
    if isinstance(item, Tool):
        return cast("Tool", item)
    if isinstance(item, type):
        raise TypeError(f"a tool must be {_ACCEPTED}, not the class {item.__name__}: pass an instance of it")
    if (theirs := tool_of(item)) is not None:
        return theirs
    if hint := _instead(item):
        raise TypeError(hint)
    convert: Any = getattr(item, "as_tool", None)
    tool: Any = convert() if callable(convert) else make_tool(item) if callable(item) else None
    if not isinstance(tool, Tool):
        raise TypeError(f"a tool must be {_ACCEPTED}, not {type(item).__name__}")
    return cast("Tool", tool)


def _no_list(tools: object) -> str:
    """Return what to write in place of a value that is no list of tools; empty for what may be one."""
    if isinstance(tools, dict):
        return f"tools is a list: write tools=[{', '.join(map(str, cast('dict[object, object]', tools)))}]"
    if isinstance(tools, Iterable):
        return ""
    name = getattr(tools, "__name__", None) or getattr(tools, "name", None) or "..."
    return f"tools is a list: write tools=[{name}]"


def _instead(item: object) -> str:
    """Return what to write in place of a value that is often mistaken for a tool; empty for what may be one."""
    kind = type(item).__name__
    if hasattr(item, "read_resource") and hasattr(item, "tools"):
        return f"{kind} is a server, not a tool: write plugins=[McpTools(server)], or tools=await server.tools()"
    if any("__treadle_default_hooks__" in vars(base) for base in type(item).__mro__):
        return f"{kind} is a plug-in, not a tool: write plugins=[{kind}(...)]"
    if inspect.iscoroutine(item):
        item.close()
        return f"{kind} {item.__name__!r} is a call of a function: give the function itself, {item.__name__}"
    if isinstance(item, dict):
        return (
            f"a tool must be {_ACCEPTED}, not a dictionary; for a tool whose calls you answer yourself write "
            "external_tool(name, description, parameters)"
        )
    return ""


_EFFECTS, _APPROVALS = get_args(Effect), get_args(Approval)


def _check_policy(tool: Tool) -> None:
    """Check what the constructor of `Tool` does not: it checks numbers only."""
    if not callable(tool.execute):
        raise ConfigError(f"tool {tool.name!r}: execute must be a function")
    if tool.effect not in _EFFECTS:
        raise ConfigError(f"tool {tool.name!r}: effect must be one of {', '.join(_EFFECTS)}, not {tool.effect!r}")
    untrusted: Any = tool.untrusted
    if not isinstance(untrusted, (bool, str)):
        raise ConfigError(f"tool {tool.name!r}: untrusted must be True, False or the name of the source")
    _check_repetition(tool)
    if tool.approval not in _APPROVALS:
        raise ConfigError(f"tool {tool.name!r}: approval must be one of {', '.join(_APPROVALS)}, not {tool.approval!r}")


def _check_repetition(tool: Tool) -> None:
    if tool.retries and tool.effect == "unsafe":
        raise ConfigError(
            f"tool {tool.name!r}: retries={tool.retries} would make a call again that may have taken effect; "
            'say effect="pure" or effect="idempotent" if it may be repeated'
        )
    if not tool.defaults:
        return
    properties: Any = tool.parameters.get("properties") or {}
    for name in tool.defaults:
        if properties and name not in properties:
            names = ", ".join(properties)
            raise ConfigError(f"tool {tool.name!r}: a default for the unknown parameter {name!r}; it has: {names}")
