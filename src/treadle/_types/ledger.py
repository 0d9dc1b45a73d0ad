"""The ledger of a run: the outcome of each call that acts, folded from the records and never from anybody's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._types import events as ev
from treadle._types.acts import NOT_ADMITTED, ActState, LedgerEntry, short
from treadle._types.messages import text_of

_NOT_RUN = NOT_ADMITTED | {"invalid_args", "cancelled", "unknown_tool"}
_UNSURE = ("unknown_outcome", "timeout", "cancelled")
_OWN_WORDS = re.compile(r"^Tool '[^']*' (?:failed|was not run|was not called)?(?:, because)?[: ]*")
_SAYS_ERROR = re.compile(r"\s*error\b\s*[:!\-]", re.IGNORECASE)


class Ledger(Struct, gc=False):
    """Every call that acts, in the order in which the outcomes were recorded."""

    calls: dict[str, LedgerEntry] = {}

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(self.calls.values())

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        self._add(event.inside)
        if (act := event.act) is None:
            return
        state, text = state_of(event)
        reason = _OWN_WORDS.sub("", short(text)).rstrip(" .") if state != "done" else short(text)
        # Arguments that could not be used say nothing about what was meant.
        key, args = ("", {}) if event.error == "invalid_args" else (act.key, act.args)
        entry = LedgerEntry(
            event.call_id, event.name, state, args, reason, record.run, record.seq, record.time, key,
            act.identified, act.declared,
        )  # fmt: skip
        self._add((entry,))

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        if event.work is not None:
            self._add(event.work.ledger)

    def _add(self, entries: Iterable[LedgerEntry]) -> None:
        for entry in entries:
            before = self.calls.get(entry.call_id)
            if before is None or before.state == "unknown":
                self.calls.pop(entry.call_id, None)
                self.calls[entry.call_id] = entry


def entries_inside(ledger: Ledger, run: str) -> tuple[LedgerEntry, ...]:
    """The entries of a run for the ledger of the one around it."""
    return tuple(
        entry if ":" in entry.call_id else msgspec.structs.replace(entry, call_id=f"{run}:{entry.call_id}")
        for entry in ledger.entries
    )


def state_of(event: ev.ToolDone) -> tuple[ActState, str]:
    """Return the state of a call, and the text that says so."""
    text = event.full if event.full is not None else text_of(event.content)
    if not event.executed and event.error in _NOT_RUN:
        return "refused", text
    if event.error in _UNSURE:
        return "unknown", text
    if event.error:
        return "failed", text
    reason = says_failed(text)
    return ("failed", reason) if reason else ("done", text)


def says_failed(text: str) -> str:
    """The reason, where a result that came without an exception says itself that nothing was done: `Error: ...`, or an
    object with an `error`, with `success` or `ok` false, or with an HTTP status of failure."""
    if _SAYS_ERROR.match(text):
        return text
    if text[:1] != "{":
        return ""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, Any]", value)
    codes = (fields.get(name) for name in ("status", "status_code", "statusCode"))
    denies = any(fields.get(name) is False for name in ("success", "ok")) or fields.get("isError") is True
    denies = denies or any(isinstance(code, int) and 400 <= code < 600 for code in codes)
    error: Any = fields.get("error")
    if not denies and not error:
        return ""
    return str(error or fields.get("message") or text)
