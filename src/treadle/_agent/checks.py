"""What is wrong with what an agent is given, said where it is given and with what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from treadle._dialects.registry import get_dialect
from treadle._engine.core.hooks import HOOKS
from treadle._engine.plugin import Plugin
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, DuplicateToolError

if TYPE_CHECKING:
    from treadle._journal.base import Journal
    from treadle._tools.skills.skill import Skill


_BESIDE_HOOKS = ("tools", "instructions", "brings_tools", "prompts")
"""What a plug-in may be there for, if not for a hook."""


def listed(keyword: str, given: Any) -> list[Any]:
    """The items of a keyword that takes a list; one text or one thing alone is refused, not taken apart."""
    if type(given) is tuple or type(given) is list:  # as nearly always: an agent may be made for every request
        return [*given]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        shown = repr(given) if isinstance(given, str) and keyword != "secrets" else "..."
        raise ConfigError(f"{keyword} is a list: write {keyword}=[{shown}]")
    return [*cast("Iterable[Any]", given)]


def plugins_of(given: Any) -> list[Any]:
    plugins = listed("plugins", given)
    for plugin in plugins:
        if isinstance(plugin, str):
            raise ConfigError(f"plugins takes objects, not the name {plugin!r}: from treadle.plugins import ...")
        if isinstance(plugin, type):
            raise ConfigError(f"plugins takes objects: write {plugin.__name__}(), not the class {plugin.__name__}")
        if problem := _problem_of(cast("type[Any]", type(plugin))):
            raise ConfigError(problem)
    return plugins


def skills_of(given: Iterable[str | PathLike[str] | Skill]) -> list[Any]:
    """The plug-in for the folders of skills that an agent is given."""
    folders = [given] if isinstance(given, str) else [*given]
    if not folders:
        return []
    from treadle._plugins.skills import Skills  # most agents have none

    return [Skills(folders)]


def workspace_of(given: str | PathLike[str] | Plugin) -> Plugin:
    """The plug-in for the folder that an agent's runs work in."""
    from treadle._workspace.workspace import Workspace  # most agents have none

    if isinstance(given, Plugin) and not isinstance(given, Workspace):
        raise ConfigError(f"workspace takes a folder or a Workspace, not {type(given).__name__}")
    return given if isinstance(given, Workspace) else Workspace(given)


@cache
def _problem_of(kind: type[Any]) -> str:
    """Why objects of this class are no plug-ins; empty when they are."""
    from difflib import get_close_matches

    marked = any("__treadle_default_hooks__" in vars(base) for base in kind.__mro__)
    for name in HOOKS:
        hook = inspect.getattr_static(kind, name, None)
        if inspect.isfunction(hook) and not inspect.iscoroutinefunction(hook) and not _gives_awaitable(hook):
            return f"the plug-in {kind.__name__}: its hook {name} is not async: write async def {name}(...)"
    own = [name for base in kind.__mro__ if base.__module__ != "builtins" for name in vars(base)]
    for name in own:
        near = get_close_matches(name, HOOKS, 1, 0.8)
        if (
            near
            and name not in HOOKS
            and not name.startswith("_")
            and inspect.iscoroutinefunction(inspect.getattr_static(kind, name, None))
        ):
            return f"the plug-in {kind.__name__} has no hook {name!r}: did you mean {near[0]!r}?"
    if not marked and not any(hasattr(kind, name) for name in (*HOOKS, *_BESIDE_HOOKS, "name")):
        known = ", ".join(HOOKS)
        return f"{kind.__name__} is no plug-in: it has none of the hooks ({known}); subclass treadle.Plugin"
    return ""


def _gives_awaitable(hook: Any) -> bool:
    """A plain function may give an awaitable on purpose; then it says so."""
    returned = getattr(hook, "__annotations__", {}).get("return")
    return returned is not None and any(word in str(returned) for word in ("Awaitable", "Coroutine", "Future"))


def refuse_names_given_twice(toolkit: Toolkit, plugins: Iterable[Any]) -> None:
    """A tool would stand in the way of one that a plug-in brings, and nobody would be told."""
    for plugin in plugins:
        for tool in plugin.tools if getattr(plugin, "brings_tools", False) else ():
            if tool.name in toolkit:
                raise DuplicateToolError(
                    f"the plug-in {plugin.name} brings a tool {tool.name}, and so do you: give yours another name"
                )


def check_texts(**given: Any) -> None:
    for keyword, value in given.items():
        if type(value) is not str and not isinstance(value, str) and not callable(value):
            raise ConfigError(f"{keyword} is text, or a function of the run that gives it, not {type(value).__name__}")


def check_dialect(name: str) -> None:
    if not name.startswith("auto"):
        get_dialect(name)  # an unknown one is refused


def journal_of(given: Journal | str | PathLike[str] | None) -> Journal | None:
    """The journal that an agent is given, or that a path or an address names."""
    if isinstance(given, (str, PathLike)):
        from treadle._journal import open_journal

        return open_journal(given)
    if given is not None and not all(hasattr(given, name) for name in ("append", "load", "claim")):
        raise ConfigError(
            f"journal is a path, an address or what open_journal gives, not {type(given).__name__}: "
            'write journal="runs.db"'
        )
    return given


def warn_about_names(asked: Iterable[str], toolkit: Iterable[Tool], more_to_come: bool) -> None:
    """A tool that is to be asked about and is not there is, as likely as not, one that is there and will not be."""
    for name in asked:
        names = [one for tool in toolkit for one in tool.all_names]
        if name != "all" and name not in names and not more_to_come:
            from difflib import get_close_matches

            from treadle._safety.logs import get_logger

            near = get_close_matches(name, names, 1)
            hint = f": did you mean {near[0]!r}?" if near else f"; there are: {', '.join(names) or 'none'}"
            get_logger().warning("ask names %r, and the agent has no tool of that name%s", name, hint)
