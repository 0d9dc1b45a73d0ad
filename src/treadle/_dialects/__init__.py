"""Dialects: how a model is asked for an action and how its reply is read. See `base` for the seam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle._dialects.base import Dialect
    from treadle._types.profile import Profile

_HOMES = {
    "native": ("native", "NativeDialect"),
    "json": ("json_object", "JsonDialect"),
    "action": ("action", "ActionDialect"),
    "array": ("array", "ArrayDialect"),
    "schema": ("schema", "SchemaDialect"),
    "direct": ("direct", "DirectDialect"),
    "brief": ("brief", "BriefDialect"),
    "code": ("code", "CodeDialect"),
}


_made: dict[str, Dialect] = {}


def get_dialect(name: str, **options: Any) -> Dialect:
    """The dialect of that name; `options` are its own fields (`get_dialect("array", completion="done")`)."""
    if options:
        return _make(name, options)
    found = _made.get(name)
    if found is None:
        found = _made[name] = _make(name, {})
    return found


def _make(name: str, options: dict[str, Any]) -> Dialect:
    from importlib import import_module

    from treadle._types.errors import ConfigError

    if name not in _HOMES:
        raise ConfigError(f"unknown dialect {name!r}; known are: {', '.join(_HOMES)}, and 'auto' where one is chosen")
    module, kind = _HOMES[name]
    try:
        return getattr(import_module(f"treadle._dialects.{module}"), kind)(**options)
    except TypeError as error:
        raise ConfigError(f"the dialect {name!r} does not take these options: {error}") from error


def dialect_for(name: str, completion: str) -> Dialect:
    """The dialect a run speaks: by its name, with what the settings make of it."""
    return get_dialect(name, completion=completion) if name == "array" else get_dialect(name)


def choose_dialect(setting: str, profile: Profile, allow_native: bool = True) -> Dialect:
    """The dialect for a model.

    A name is itself. `auto`: what a probe found, else native calls if the model has them (and they are allowed), else the best
    text dialect. `auto:json`: native calls if they work, else `json` (or whatever dialect is named).
    """
    kind, _, fallback = setting.partition(":")
    if kind != "auto":
        return get_dialect(setting)
    native = allow_native and profile.tool_call and profile.dialect in (None, "native")
    if fallback:
        return get_dialect("native" if native else fallback)
    if native or (allow_native and profile.dialect == "native"):
        return get_dialect("native")
    probed = profile.dialect if profile.dialect != "native" else None
    best = probed or ("schema" if profile.json_schema or profile.grammar else "json")
    if best == "schema":  # the smaller the model, the fewer its words
        best = "brief" if profile.tiny else "direct" if profile.grammar else best
    return get_dialect(best)
