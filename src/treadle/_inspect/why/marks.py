"""A person's marks on a wrong run: the answer or step, and what was expected, stored in the run's note.

A note stays a text that people write as they like; lines of this form are marks:

    expected: 522250
    expected call: population {"city": "Lyon"}
    expected at step 2: 522250
    expected call at step 2: population {"city": "Lyon"}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._journal.base import Journal, RunInfo
from treadle._safety.bounds import Amount, bounded
from treadle._types.errors import ConfigError
from treadle._types.events import Record, ThinkStarted

KEPT = "kept"
"""The tag of runs that are tests."""
_LINE = re.compile(r"^\s*expected(?: (answer|call))?(?: at step (\d+))?:[ \t]*(\S.*)$", re.IGNORECASE)


class Mark(Struct, frozen=True, omit_defaults=True):
    """An expectation about the whole run or one step: a text in the answer, or a call."""

    step: int = 0
    """0: of the whole run."""
    answer: str = ""
    call: str = ""
    args: dict[str, Any] | None = None

    def __str__(self) -> str:
        where = f" at step {self.step}" if self.step else ""
        if self.call:
            args = f" {msgspec.json.encode(self.args).decode()}" if self.args else ""
            return f"expected call{where}: {self.call}{args}"
        return f"expected{where}: {self.answer}"


def marks_in(note: str) -> list[Mark]:
    """Parse the marks of a note; other lines, and calls whose arguments are no JSON object, are ignored."""
    marks: list[Mark] = []
    for line in note.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        what, step, text = match[1], int(match[2] or 0), match[3].strip()
        if (what or "").lower() != "call":
            marks.append(Mark(step, text))
            continue
        name, _, rest = text.partition(" ")
        try:
            args: object = msgspec.json.decode(rest) if rest.strip() else None
        except msgspec.DecodeError:
            continue
        if args is None or isinstance(args, dict):
            marks.append(Mark(step, "", name, cast("dict[str, Any] | None", args)))
    return marks


@bounded
async def mark_wrong(
    journal: Journal,
    run_id: str,
    *,
    answer: str = "",
    call: str = "",
    args: dict[str, Any] | None = None,
    step: Amount = 0,
) -> RunInfo:
    """Mark a run's answer, or one `step` of it, as wrong, and say what was expected.

    The mark is added to the run's note, its thumb is set to down, and `find_causes` judges by it.
    """
    await mark(journal, run_id, answer=answer, call=call, args=args, step=step)
    return await journal.annotate(run_id, thumb="down")


async def mark(
    journal: Journal,
    run_id: str,
    *,
    answer: str = "",
    call: str = "",
    args: dict[str, Any] | None = None,
    step: int = 0,
) -> RunInfo:
    """Note what is expected of a run, right or wrong."""
    if bool(answer.strip()) == bool(call.strip()):
        raise ConfigError("say what was expected: answer='...', or call='tool' (with args={...} if you like)")
    if args is not None and not call:
        raise ConfigError("args are those of a call: name its tool with call='...'")
    if len(call.split()) > 1:
        raise ConfigError(f"call is the name of one tool, not {call!r}: its arguments are args={{...}}")
    check_step(await journal.load(run_id), step)
    line = str(Mark(step, " ".join(answer.split()), call.strip(), args))
    note = (await journal.info(run_id)).note
    other_lines = [old for old in note.splitlines() if not _same_place(old, line)]
    return await journal.annotate(run_id, note="\n".join([*other_lines, line]).strip())


def check_step(records: Sequence[Record], step: int) -> None:
    steps = sorted({r.event.iteration for r in records if isinstance(r.event, ThinkStarted)})
    if step and step not in steps:
        raise ConfigError(f"the run has no step {step}; its steps are {', '.join(map(str, steps)) or 'none'}")


def _same_place(old: str, new: str) -> bool:
    """Return whether both lines mark the same step in the same way: then the later one replaces the earlier."""
    one, other = marks_in(old), marks_in(new)
    return bool(one and other) and (one[0].step, bool(one[0].call)) == (other[0].step, bool(other[0].call))
