"""Intents: which tools may act without a question, how often, and for each argument a rule, as far as that could be
said before anything from outside was read.

    {"read": ["get_transactions"],
     "act": [{"tool": "send_money", "max": 1, "args": {
        "recipient": {"is": ["GB29NWBK60161331926819"]},
        "amount": {"pick": {"in": "get_transactions", "where": {"sender": "GB29..."}, "get": "amount", "calc": "x-6"}},
        "subject": {"any": ["get_transactions"]}}}]}
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._types.errors import ConfigError
from treadle._types.value import EventBase


class IntentPart(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Base of what intents are made of. An unknown field is an error, so that no misspelled limit is overlooked."""


class Source(IntentPart, frozen=True):
    """Calls of a tool that reads. With `args`, those whose arguments obey these rules; else all of them."""

    tool: str
    args: dict[str, Rule] = {}


class Pick(IntentPart, frozen=True, rename={"source": "in"}):
    """A value that the engine looks up in results, never the model. Without `all` it has to be the only one."""

    source: str | Source | tuple[str | Source, ...]
    """Where it is looked up. Rows of several sources are joined by their `key`."""
    where: dict[str, Any] = {}
    """What a row has to have, by field: a value, or `{"has": text}`, `{"starts": text}`, `{"under": n}`, `{"over":
    n}`, `{"not": ...}` of these. `@name` is an argument of the call that the row came with."""
    per: str = ""
    """Count the rows with the same value of this field; each count is a row then, with the field and `count`."""
    top: tuple[str, ...] = ()
    """Keep the rows with the highest number or latest date of these fields, one after the other; the lowest with `-`
    before it."""
    get: str = ""
    """The field that is wanted: of a row, or `key`, `value`, `line`, `@name`. All of the text without it."""
    type: Literal["", "email", "url", "money", "number", "account", "date", "path"] = ""
    """What of the field's text is wanted."""
    calc: str = ""
    """What is done with a number `x`, as in `x*0.1+5`, or with others, as in `x+more`."""
    let: dict[str, Rule] = {}
    """The other numbers of `calc`, each fixed or picked."""
    all: bool = False
    """Every such value, not the only one."""


class Rule(IntentPart, frozen=True, rename={"values": "is"}):
    """Rule for one argument; exactly one of these."""

    values: tuple[Any, ...] | None = None
    """One of these values."""
    like: Any = None
    """A template: `{name}` is a value of `let`, or one short word where `let` does not have it."""
    let: dict[str, Rule] = {}
    """The values of a template, each picked or fixed."""
    pick: Pick | None = None
    """Looked up by the engine."""
    words: bool = False
    """It stands in the words of the person."""
    any: bool | tuple[str | Source, ...] | None = None
    """Free text, never a number, once nothing was read but these sources (`true`: what the intent may read)."""
    either: tuple[Rule, ...] | None = None
    """One of these rules: a name as the person wrote it, or the account that belongs to it."""

    def __post_init__(self) -> None:
        forms = (self.values, self.like, self.pick, self.words or None, self.any, self.either)
        if sum(form is not None for form in forms) != 1:
            raise ValueError("a rule has one of: is, like, pick, words, any, either")


class Permit(IntentPart, frozen=True, rename={"times": "max"}):
    """A tool that may act, how often, and what each argument may be. An argument without a rule must be left out."""

    tool: str
    times: int = 1
    args: dict[str, Rule] | None = None
    """None: all of them have to stand in the person's words."""
    ask: bool = False
    """Only reading tells what it is: a person is asked, in one question about all such calls of a run. The tool may be
    `*` then."""

    def __post_init__(self) -> None:
        if self.tool == "*" and not self.ask:
            raise ValueError("a tool is named, unless a person is asked")
        if self.times < 1:
            raise ValueError("max is the number of calls, at least 1")


class Intent(IntentPart, frozen=True):
    """Calls that are made without a question."""

    read: tuple[str | Source, ...] = ()
    act: tuple[Permit, ...] = ()

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self))  # settings are looked up by their hash, and the rules are in dicts


class IntentSet(EventBase, frozen=True, tag="intent_set"):
    """Intent of the run, recorded before anything from outside was read; a later one takes its place."""

    intent: Intent
    by: Literal["caller", "model", "person"] = "caller"
    """Whose word it is."""


class Permitted(EventBase, frozen=True, tag="permitted"):
    """A call is inside the intent and needs no question."""

    call_id: str
    entry: int
    """Which entry of `act` it is."""
    tool: str = ""


def in_words(intent: Intent) -> str:
    """Return what an intent permits, in one line for a person."""
    lines: list[str] = []
    for permit in intent.act:
        if permit.ask:
            lines.append(f"{'whatever it says' if permit.tool == '*' else permit.tool} (you are asked)")
            continue
        rules = permit.args or {}
        args = ", ".join(f"{name} {_rule_in_words(rule)}" for name, rule in rules.items()) if rules else "as you said"
        lines.append(f"{permit.tool}{f' up to {permit.times} times' if permit.times > 1 else ''} ({args})")
    return "; ".join(lines) or "nothing"


def _rule_in_words(rule: Rule) -> str:
    if rule.values is not None:
        return " or ".join(str(value) for value in rule.values)
    if rule.like is not None:
        return f"like {rule.like}"
    if rule.either is not None:
        return " or ".join(map(_rule_in_words, rule.either))
    if rule.pick is not None:
        sources = rule.pick.source if isinstance(rule.pick.source, tuple) else (rule.pick.source,)
        return f"from {' and '.join(one if isinstance(one, str) else one.tool for one in sources)}"
    return "as you said" if rule.words else "FREE TEXT"


def intent_of(may: Any) -> Intent:
    """Return the intent that a caller wrote: an `Intent`, its JSON form, or a list of what may be done, each a tool's
    name or an entry of `act`."""
    if isinstance(may, Intent):
        return may
    form: Any = may
    if isinstance(may, list | tuple):
        listed = cast("list[Any]", may)
        form = {"act": [{"tool": one} if isinstance(one, str) else one for one in listed]}
    try:
        return msgspec.convert(form, Intent, from_attributes=True)
    except (msgspec.ValidationError, TypeError) as error:
        raise ConfigError(
            f"may= is not an intent: {error}; write a list of what may be done, as in "
            '[{"tool": "send_money", "args": {"recipient": {"is": ["..."]}, "subject": {"any": true}}}]'
        ) from None
