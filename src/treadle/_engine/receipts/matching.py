"""Which call did what a sentence says was done: by the values they share, not by verbs.

All ids, amounts and dates of a sentence must belong to one successful call of the run. The user's request, a model's
words and failed calls are no receipts. Without a value nothing is said about a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._engine.receipts.admission import denies, regrets
from treadle._engine.receipts.values import Values, small, texts_in, values_in, values_of
from treadle._types.acts import LedgerEntry
from treadle._types.events import Record, RunStarted, ToolDone, ToolsChanged, ToolStarted
from treadle._types.ledger import Ledger
from treadle._types.messages import text_of

_WORD = re.compile(r"[\w-]+")
_MAX_TEXT = 2_000


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The verdict of the record on a sentence with ids, amounts or dates in it."""

    outcome: Literal["receipted", "contradicted", "unclear"]
    calls: tuple[str, ...] = ()
    """The ids of the calls that did it; of a contradiction, those that speak against it."""
    why: str = ""


class _Deed(Struct, frozen=True):
    entry: LedgerEntry
    values: Values
    fields: Mapping[str, frozenset[str]]
    """What each argument says, casefolded; of lists and of JSON inside a text under the name where it stands."""
    options: Mapping[str, frozenset[str]]
    """Of each argument with a declared choice: what could have been chosen."""

    @property
    def texts(self) -> frozenset[str]:
        return frozenset[str]().union(*self.fields.values())


class Deeds:
    """The calls of a run and of those inside it, as what sentences are held against."""

    def __init__(self, logs: Mapping[str, Sequence[Record]]) -> None:
        self.deeds: list[_Deed] = []
        self._read: list[Values] = []
        self._known: set[str] = set()
        """The ids in what was read so far: a result that has them too does not say that they were acted on."""
        self._verbs: dict[str, tuple[str, ...]] = {}
        """The tools that act, with the words they declare for what they do."""
        for records in logs.values():
            self._add(records, logs)

    def _add(self, records: Sequence[Record], logs: Mapping[str, Sequence[Record]]) -> None:
        ledger = Ledger()
        args: dict[str, dict[str, Any]] = {}
        schemas: dict[str, Mapping[str, Any]] = {}
        for record in records:
            event = record.event
            if isinstance(event, RunStarted | ToolsChanged):
                schemas |= {tool.name: tool.parameters for tool in event.tools}
            if isinstance(event, RunStarted):
                self._verbs |= event.acting
            elif isinstance(event, ToolStarted):
                args[event.call.id] = event.call.args
            elif isinstance(event, ToolDone):
                ledger.on_tool_done(event, record)
                made = args.get(event.call_id, event.act.args if event.act is not None else {})
                text = event.full if event.full is not None else text_of(event.content)
                entry = ledger.calls.get(event.call_id)
                if entry is not None:
                    fields = {name: frozenset(map(_plain, texts)) for name, texts in texts_in(made).items()}
                    result = values_in(text)
                    result = msgspec.structs.replace(result, ids=result.ids - self._known)
                    values = _joined(values_in(made), result)
                    self.deeds.append(_Deed(entry, values, fields, _options(schemas.get(event.name, {}))))
                elif not event.error and f"{record.run}.{event.call_id}" not in logs:
                    self._read.append(_joined(values_in(made), values_in(text)))
                    self._known |= self._read[-1].ids

    def receipt(self, sentence: str) -> Receipt | None:
        """The receipt of a sentence; None when it says nothing was done, or names nothing that could be looked up."""
        values = self._values_of(sentence)
        may_act = self.deeds or self._verbs
        if not may_act or not values or sentence.rstrip().endswith("?") or denies(sentence):
            return None
        done = [deed for deed in self.deeds if deed.entry.state == "done"]
        whole = [deed for deed in done if self._holds(deed, values)]
        if whole:
            receipts = [self._judged(deed, sentence, values) for deed in whole]
            return next((one for one in receipts if one.outcome == "receipted"), receipts[0])
        undone = [deed for deed in self.deeds if deed.entry.state != "done" and self._touches(deed, values)]
        touched = [deed for deed in done if self._touches(deed, values)]
        if undone and not touched:
            outcome = "unclear" if regrets(sentence) else "contradicted"
            return Receipt(outcome, (undone[-1].entry.call_id,), undone[-1].entry.line[1:-1])
        return self._of_several(values, touched) if touched else self._of_none(values)

    def confirms(self, sentence: str, call_id: str) -> bool:
        """Return whether a call was done, and has every id, date and amount of a sentence; a small count may be of
        something else ("within 5 days")."""
        values = self._values_of(sentence)
        for deed in self.deeds:
            if deed.entry.call_id == call_id and deed.entry.state == "done":
                own = deed.values
                return (
                    all(map(own.has_id, values.ids))
                    and all(map(own.has_date, values.dates))
                    and all(small(one) or own.has_number(one) for one in values.spoken)
                )
        return False

    def _values_of(self, sentence: str) -> Values:
        """The values of a sentence. A small number is an id where a tool declares that such an argument identifies."""
        values = values_of(sentence)
        declared = {str(value) for deed in self.deeds if deed.entry.identified for value in deed.entry.args.values()}
        named = {f"{value:f}" for one in values.spoken if small(one) for value in one} & declared
        return msgspec.structs.replace(values, ids=values.ids | named) if named else values

    def _holds(self, deed: _Deed, values: Values) -> bool:
        """Return whether a call has every value."""
        own = deed.values
        return (
            self._touches(deed, values)
            and all(own.has_id(one) for one in values.ids)
            and all(own.has_date(one) for one in values.dates)
            and all(own.has_number(one) for one in values.spoken)
        )

    @staticmethod
    def _touches(deed: _Deed, values: Values) -> bool:
        """Return whether a call is about what a sentence names: one of its ids, or where it has none, another value."""
        own = deed.values
        if values.ids:
            return any(own.has_id(one) for one in values.ids)
        if values.dates:
            return any(own.has_date(one) for one in values.dates)
        return any(own.has_number(one) for one in values.spoken if not small(one))

    def _judged(self, deed: _Deed, sentence: str, values: Values) -> Receipt:
        """The receipt from a call with all ids, amounts and dates of a sentence; not where the sentence names
        another choice of an argument, what only other calls were made for, or a declared word for another deed."""
        said = f" {_plain(sentence)} "
        calls = (deed.entry.call_id,)
        for name, options in deed.options.items():
            own, named = deed.fields.get(name, frozenset[str]()), _named(options, said)
            if own and named and not own & named:
                return Receipt("contradicted", calls, f"{name} was {min(own)}, not {min(named)}")
        holders: dict[str, list[_Deed]] = {}
        for one in self.deeds:
            for text in one.texts:
                holders.setdefault(text, []).append(one)
        for text in _named(holders, said):
            about = [one for one in holders[text] if self._touches(one, values)]
            if any(one.entry.state == "done" for one in about):
                continue
            if about:
                return Receipt("contradicted", (about[-1].entry.call_id,), about[-1].entry.line[1:-1])
            alike = any(one.entry.tool == deed.entry.tool for one in holders[text])
            return Receipt("contradicted" if alike else "unclear", calls, f"{text} is of another call")
        named = [tool for tool, verbs in self._verbs.items() if any(f" {_plain(verb)}" in said for verb in verbs)]
        if named and self._verbs.get(deed.entry.tool) and deed.entry.tool not in named:
            return Receipt("contradicted", calls, f"what was done is {deed.entry.tool}, not {named[0]}")
        return Receipt("receipted", calls)

    def _of_several(self, values: Values, touched: Sequence[_Deed]) -> Receipt:
        """A sentence about several calls, or one that mixes them up."""
        calls = tuple(deed.entry.call_id for deed in touched)
        missing = [one for one in values.ids if not any(deed.values.has_id(one) for deed in touched)]
        failed = [deed for deed in self.deeds if deed.entry.state != "done" and any(map(deed.values.has_id, missing))]
        if failed:
            return Receipt("contradicted", (failed[-1].entry.call_id,), failed[-1].entry.line[1:-1])
        if missing:
            return Receipt("unclear", calls, f"{missing[0]} is in no call that was done")
        checks: list[tuple[str, Callable[[Values], bool]]] = [
            (str(min(one)), partial(Values.has_number, readings=one)) for one in values.spoken if not small(one)
        ]
        checks += [("-".join(map(str, one)), partial(Values.has_date, wanted=one)) for one in values.dates]
        for shown, has in checks:
            if any(has(deed.values) for deed in touched):
                continue
            elsewhere = any(has(deed.values) for deed in self.deeds)
            return Receipt("contradicted" if elsewhere else "unclear", calls, f"{shown} is not of this call")
        if not checks and _list_the_same(values.ids, touched):
            return Receipt("receipted", calls)
        counted = any(small(one) and not any(deed.values.has_number(one) for deed in touched) for one in values.spoken)
        return Receipt("unclear", calls, "a count is in no call" if counted else "its values are of several calls")

    def _of_none(self, values: Values) -> Receipt | None:
        if not values.ids:
            named = bool(values.dates) or not all(map(small, values.spoken))
            return Receipt("unclear", (), "no call that was done has its values") if named else None
        shown = min(values.ids)
        if not self.deeds or any(read.has_id(one) for read in self._read for one in values.ids):
            return Receipt("unclear", (), f"no call that acts was made for {shown}")
        return Receipt("contradicted", (), f"no call of this run has {shown}")


def _list_the_same(ids: frozenset[str], touched: Sequence[_Deed]) -> bool:
    """Return whether ids are those of several calls for one argument ("orders 1 and 2"), and all others are of each of
    these: an order of one call with the card of another was not done."""
    for name in {name for deed in touched for name in deed.fields}:
        listed = {one for one in ids if any(_plain(one) in deed.fields.get(name, ()) for deed in touched)}
        calls = [deed for deed in touched if any(_plain(one) in deed.fields.get(name, ()) for one in listed)]
        if len(listed) > 1 and all(deed.values.has_id(one) for deed in calls for one in ids - listed):
            return True
    return False


def _joined(one: Values, other: Values) -> Values:
    return Values(one.ids | other.ids, one.numbers | other.numbers, one.dates | other.dates)


def _options(schema: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    options: dict[str, frozenset[str]] = {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name, fields in properties.items():
        choices: Any = cast("Mapping[str, Any]", fields).get("enum") if isinstance(fields, Mapping) else None
        if isinstance(choices, list | tuple):
            options[name] = frozenset(_plain(str(one)) for one in cast("list[Any]", choices))
    return options


def _named(texts: Iterable[str], said: str) -> set[str]:
    """Which of these a sentence names, each as whole words; of one inside another, the longer."""
    named = {one for one in texts if (len(one) > 3 or one.isupper()) and not one.isdigit() and f" {one} " in said}
    return {one for one in named if not any(one in longer and one != longer for longer in named)}


def _plain(text: str) -> str:
    """The words of a text, as they are looked for in others; short ones in capitals are codes, and stay as they are."""
    words = _WORD.findall(text[:_MAX_TEXT].replace("_", " "))
    return " ".join(word if len(word) == 3 and word.isupper() else word.casefold() for word in words)
