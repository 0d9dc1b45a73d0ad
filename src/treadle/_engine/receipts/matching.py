"""Which call did what a sentence says was done: by the values they share, not by verbs.

All ids, amounts and dates of a sentence must belong to one successful call of the run. The user's request, a model's
words and failed calls are no receipts. Without a value nothing is said about a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

from msgspec import Struct

from treadle._engine.receipts.admission import denies
from treadle._engine.receipts.values import Values, small, values_in, values_of
from treadle._types.acts import LedgerEntry
from treadle._types.events import Record, RunStarted, ToolDone, ToolsChanged, ToolStarted
from treadle._types.ledger import Ledger
from treadle._types.messages import text_of


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The verdict of the record on a sentence with ids, amounts or dates in it."""

    outcome: Literal["receipted", "contradicted", "unclear"]
    calls: tuple[str, ...] = ()
    """The ids of the calls that did it; of a contradiction, those that speak against it."""
    why: str = ""


class _Deed(Struct, frozen=True):
    entry: LedgerEntry
    values: Values
    options: Mapping[str, tuple[str, frozenset[str]]]
    """Of each argument with a declared choice: what was chosen, and what else could have been."""


class Deeds:
    """The calls of a run and of those inside it, as what sentences are held against."""

    def __init__(self, logs: Mapping[str, Sequence[Record]]) -> None:
        self.deeds: list[_Deed] = []
        self._read: list[Values] = []
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
            elif isinstance(event, ToolStarted):
                args[event.call.id] = event.call.args
            elif isinstance(event, ToolDone):
                ledger.on_tool_done(event, record)
                made = args.get(event.call_id, event.act.args if event.act is not None else {})
                text = event.full if event.full is not None else text_of(event.content)
                values = _joined(values_in(made), values_in(text))
                entry = ledger.calls.get(event.call_id)
                if entry is not None:
                    self.deeds.append(_Deed(entry, values, _options(made, schemas.get(event.name, {}))))
                elif not event.error and f"{record.run}.{event.call_id}" not in logs:
                    self._read.append(values)

    def receipt(self, sentence: str) -> Receipt | None:
        """The receipt of a sentence; None when it says nothing was done, or names nothing that could be looked up."""
        values = values_of(sentence)
        if not self.deeds or not values or sentence.rstrip().endswith("?") or denies(sentence):
            return None
        done = [deed for deed in self.deeds if deed.entry.state == "done"]
        whole = [deed for deed in done if self._holds(deed, values)]
        wrong = ""
        for deed in whole:
            wrong = _other_option(deed, sentence)
            if not wrong:
                return Receipt("receipted", (deed.entry.call_id,))
        if wrong:
            return Receipt("contradicted", tuple(deed.entry.call_id for deed in whole), wrong)
        undone = [deed for deed in self.deeds if deed.entry.state != "done" and self._touches(deed, values)]
        touched = [deed for deed in done if self._touches(deed, values)]
        if undone and not touched:
            return Receipt("contradicted", (undone[-1].entry.call_id,), undone[-1].entry.line[1:-1])
        return self._of_several(values, touched) if touched else self._of_none(values)

    def _holds(self, deed: _Deed, values: Values) -> bool:
        """Return whether a call has every value, itself or in what was read about the same thing."""
        if not self._touches(deed, values):
            return False
        own = deed.values
        near = [read for read in self._read if any(own.has_id(one) and read.has_id(one) for one in values.ids)]
        return (
            all(own.has_id(one) for one in values.ids)
            and all(own.has_date(one) or any(read.has_date(one) for read in near) for one in values.dates)
            and all(own.has_number(one) or any(read.has_number(one) for read in near) for one in values.spoken)
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
        several = len(values.ids) > 1 and len(touched) > 1
        counted = any(small(one) and not any(deed.values.has_number(one) for deed in touched) for one in values.spoken)
        if several and not values.dates and not any(not small(one) for one in values.spoken):
            return Receipt("receipted", calls)
        return Receipt("unclear", calls, "a count is in no call" if counted else "its values are of several calls")

    def _of_none(self, values: Values) -> Receipt | None:
        if not values.ids:
            return None
        seen = any(read.has_id(one) for read in self._read for one in values.ids)
        shown = min(values.ids)
        if seen:
            return Receipt("unclear", (), f"no call that acts was made for {shown}")
        return Receipt("contradicted", (), f"no call of this run has {shown}")


def _joined(one: Values, other: Values) -> Values:
    return Values(one.ids | other.ids, one.numbers | other.numbers, one.dates | other.dates)


def _options(args: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, tuple[str, frozenset[str]]]:
    options: dict[str, tuple[str, frozenset[str]]] = {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name, chosen in args.items():
        fields: Any = properties.get(name)
        if isinstance(chosen, str) and isinstance(fields, Mapping):
            choices: Any = cast("Mapping[str, Any]", fields).get("enum")
            if isinstance(choices, list | tuple):
                others = {_plain(str(one)) for one in cast("list[Any]", choices)} - {_plain(chosen)}
                options[name] = (_plain(chosen), frozenset(others))
    return options


def _plain(option: str) -> str:
    return option.replace("_", " ").casefold()


def _other_option(deed: _Deed, sentence: str) -> str:
    """Why a sentence contradicts a declared choice of a call: it names another option, and not the one chosen."""
    low = f" {sentence.casefold()} "
    for name, (chosen, others) in deed.options.items():
        named = [one for one in others if len(one) > 3 and f" {one}" in low and one not in chosen]
        if named and chosen not in low:
            return f"{name} was {chosen}, not {named[0]}"
    return ""
