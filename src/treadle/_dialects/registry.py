"""Dialects by name, the choice of one for a model, and earlier replies shown in another dialect."""

from __future__ import annotations

from typing import Any

from treadle._dialects.base import Decision, Dialect
from treadle._lazy import load
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage
from treadle._types.profile import Profile
from treadle._types.request import Reply

_LAZY_IMPORTS = {
    "native": "_dialects.native:NativeDialect",
    "json": "_dialects.json_object:JsonDialect",
    "action": "_dialects.action:ActionDialect",
    "array": "_dialects.array:ArrayDialect",
    "schema": "_dialects.schema:SchemaDialect",
    "direct": "_local.dialects.direct:DirectDialect",
    "brief": "_local.dialects.brief:BriefDialect",
    "compact": "_local.dialects.compact:CompactDialect",
    "code": "_dialects.code:CodeDialect",
}
"""A dialect's name -> its module and class."""
_SHORT_DIALECT = "_local.dialects.direct:short_dialect"

_instances: dict[str, Dialect] = {}


def add_dialect(dialect: Dialect) -> None:
    """Make a dialect of your own known by its name: `Agent(..., dialect="name")`, and whatever reads its runs later.

    A name that Treadle or another dialect has already is refused; the same kind of dialect may be added again.
    """
    known = _instances.get(dialect.name)
    if dialect.name in _LAZY_IMPORTS or (known is not None and type(known) is not type(dialect)):
        raise ConfigError(f"there is a dialect {dialect.name!r} already: give yours another name")
    if not dialect.name.isidentifier() or dialect.name == "auto":
        raise ConfigError(f"the name of a dialect is one word, not {dialect.name!r}")
    _instances[dialect.name] = dialect


def get_dialect(name: str, **options: Any) -> Dialect:
    """The dialect of that name; `options` are its own fields (`get_dialect("array", completion="done")`)."""
    if options:
        return _create(name, options)
    dialect = _instances.get(name)
    if dialect is None:
        dialect = _instances[name] = _create(name, {})
    return dialect


def _create(name: str, options: dict[str, Any]) -> Dialect:
    if name not in _LAZY_IMPORTS:
        names = ", ".join(dict.fromkeys([*_LAZY_IMPORTS, *filter(str.isidentifier, _instances)]))
        raise ConfigError(f"unknown dialect {name!r}; expected one of: {names}; or 'auto' to choose one for the model")
    try:
        return load(_LAZY_IMPORTS[name])(**options)
    except TypeError as error:
        raise ConfigError(f"the dialect {name!r} does not take these options: {error}") from error


def dialect_for(name: str, completion: str) -> Dialect:
    """The dialect a run uses, with the settings that apply to it."""
    return get_dialect(name, completion=completion) if name == "array" else get_dialect(name)


def reader_for(dialect: Dialect, reply: Reply, calls_natively: bool) -> Dialect:
    """The dialect that reads a reply. Native calls are taken whatever dialect was asked for; where they are known to
    work, text is never read for calls."""
    if reply.calls and not dialect.native:
        return get_dialect("native")
    if not (dialect.native and calls_natively):
        return dialect
    reader = _instances.get("native only")
    if reader is None:
        reader = _instances["native only"] = _create("native", {"text_calls": False})
    return reader


def choose_dialect(setting: str, profile: Profile, allow_native: bool = True) -> Dialect:
    """The dialect for a model.

    A dialect's name means that dialect. `auto`: the result of a probe if there is one, else native calls if the model
    has them (and they are allowed), else what it was tuned for, else the best text dialect. `auto:json`:
    native calls if they work, else `json` (or whichever dialect is named).
    """
    kind, _, fallback = setting.partition(":")
    if kind != "auto":
        return get_dialect(setting)
    native = allow_native and profile.tool_call and profile.dialect in (None, "native")
    if fallback:
        return get_dialect("native" if native else fallback)
    if native or (allow_native and profile.dialect == "native"):
        return get_dialect("native")
    if profile.tuned:
        return get_dialect("compact")
    probed = profile.dialect if profile.dialect != "native" else None
    best = probed or ("schema" if profile.json_schema or profile.grammar else "json")
    if best == "schema" and (profile.grammar or profile.reviewed):
        best = load(_SHORT_DIALECT)(profile)
    return get_dialect(best)


def show_assistant(message: AssistantMessage, dialect: Dialect) -> AssistantMessage:
    """An earlier reply as `dialect` shows it to the model, whichever dialect it was written in."""
    decision = None if message.dialect == dialect.name else _read(message)
    return dialect.assistant(message, decision)


def _read(message: AssistantMessage) -> Decision | None:
    """Return what an earlier reply decided; None when it cannot be read, so that only its text is left."""
    if message.dialect == "native":
        return Decision(message.text, message.calls) if message.calls else Decision(answer=message.text)
    decision = get_dialect(message.dialect).decode(Reply(text=message.text), ())
    if message.calls:
        return Decision(decision.thought, message.calls)
    if decision.answer is None:
        return None
    return Decision(decision.thought, answer=decision.answer, task_successful=decision.task_successful)
