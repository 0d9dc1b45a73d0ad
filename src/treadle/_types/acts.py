"""Calls that act: what a record says of one, and the line it becomes in the ledger of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

import msgspec

from treadle._types.value import Value

MAX_VALUE = 200
"""Characters of an identifying value, and of the result of a call, that the ledger keeps."""
_MAX_ARGS = 12
ActState = Literal["done", "failed", "refused", "unknown"]
HELD = "held"
"""The error of a call that was not made yet, because a person is asked about several at once."""
NOT_ADMITTED = frozenset(("denied", "rejected", HELD))
"""The errors of calls that somebody or something did not allow: nothing was tried, so nothing failed."""


class Act(Value, frozen=True, omit_defaults=True, gc=False):
    """A call of a tool that acts, as its outcome is recorded."""

    args: dict[str, Any] = {}
    """The arguments that say what it is done to: those the tool declares (`identifies=`), else all plain ones."""
    key: str = ""
    """Stands for all arguments: two calls with the same key are the same call. Empty where they could not be used."""
    identified: bool = False
    """The tool declares which arguments identify a call."""
    declared: bool = False
    """The tool declares its effect. What does not may be a mere question."""


class LedgerEntry(Value, frozen=True, omit_defaults=True):
    """The outcome of one call that acts."""

    call_id: str
    """Of a call inside another run: `run:call`."""
    tool: str
    state: ActState
    """`done`; `failed`, also when the result says so; `refused`: not run; `unknown`: it was cut off half-way."""
    args: dict[str, Any] = {}
    """The identifying arguments."""
    result: str = ""
    """The beginning of its result, or why it was not done."""
    run: str = ""
    seq: int = -1
    """The record of its outcome."""
    time: float = 0.0
    key: str = ""
    identified: bool = False
    declared: bool = False
    """These three as in `Act`."""

    @property
    def subject(self) -> str:
        """The tool and what it was called for: `refund (order 4711)`."""
        args = ", ".join(
            f"{name} {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
            for name, value in self.args.items()
        )
        return f"{self.tool} ({args})" if args else self.tool

    @property
    def line(self) -> str:
        """The line that is added to an answer which does not admit it."""
        label = "outcome unknown" if self.state == "unknown" else "not done"
        why = f": {self.result}" if self.result and self.state != "done" else ""
        return f"[{'done' if self.state == 'done' else label}: {self.subject}{why}]"


def act_of(args: Mapping[str, Any], identifies: Iterable[str] = (), *, declared: bool = False) -> Act:
    """Return what is recorded of a call with these arguments."""
    import hashlib  # loads OpenSSL, which a program without calls does not need

    names = tuple(identifies)
    named = {name: args.get(name) for name in names or args}
    plain = {name: short(value) for name, value in _plain(named) if value != ""}
    try:
        key = hashlib.blake2b(msgspec.json.encode(args, order="sorted"), digest_size=8).hexdigest()
    except (RecursionError, UnicodeEncodeError):  # such a call is refused
        key = ""
    return Act(dict(list(plain.items())[:_MAX_ARGS]), key, bool(names), declared)


def _plain(args: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The plain arguments, lists of such in one text, and those of an object that is passed as JSON in a text."""
    for name, value in args.items():
        if isinstance(value, str) and value.startswith("{"):
            try:
                yield from _plain(msgspec.json.decode(value, type=dict[str, Any]))
                continue
            except (msgspec.DecodeError, RecursionError):
                pass
        if isinstance(value, str | int | float):
            yield name, value
        elif isinstance(value, list | tuple) and all(
            isinstance(one, str | int | float) for one in cast("list[Any]", value)
        ):
            yield name, " ".join(map(str, cast("list[Any]", value)))


def short(value: Any) -> Any:
    """A value as the ledger keeps it, in one line."""
    if not isinstance(value, str):
        return value
    line = " ".join(value[: 4 * MAX_VALUE].split())
    return line if len(line) <= MAX_VALUE else f"{line[: MAX_VALUE - 1]}…"
