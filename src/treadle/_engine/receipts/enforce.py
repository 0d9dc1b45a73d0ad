"""Act on an answer that hides what was not done, as `receipts=` says: send it back once, mark it, or refuse it."""

from __future__ import annotations

from treadle._engine.core.execution import Execution
from treadle._safety.beside import read_beside
from treadle._types.errors import GuardrailError
from treadle._types.events import Event, LedgerEntry, MessageAdded, Noted, StopReason
from treadle._types.messages import UserMessage

COMPONENT = "receipts"
_ANSWERED = ("answer", "final_tool", "limit", "budget", "stuck")


async def sent_back(run: Execution, answer: str) -> tuple[Event, ...]:
    """The records that send a proposed answer back, with what really happened; none if it may stand, or went back
    before."""
    if run.settings.receipts not in ("correct", "refuse") or COMPONENT in run.state.notes:
        return ()
    missing = await _hidden(run, answer)
    if not missing:
        return ()
    from treadle._engine.receipts.admission import objection

    note = UserMessage(objection(missing), kind="note")
    return Noted(COMPONENT, {"told": len(missing)}), MessageAdded(note, COMPONENT)


async def settled(
    run: Execution, answer: str, reason: StopReason, success: bool, error: BaseException | None
) -> tuple[str, bool, BaseException | None]:
    """The answer with a line for what it hides, whether the run is a success, and why not. Resumed after the answer was
    recorded, the lines in it say the same again. A typed answer is for a program: it stays as it is."""
    mode = run.settings.receipts
    if mode == "off" or reason not in _ANSWERED or not answer.strip() or not run.state.ledger.calls:
        return answer, success, error
    from treadle._engine.receipts.admission import told_in, with_lines  # its patterns are for runs that act

    missing = await _hidden(run, answer)
    if not missing:
        return answer, success and not told_in(answer, run.state.ledger.entries), error
    if mode == "refuse":
        lines = with_lines("", missing)
        return lines, False, error or GuardrailError(COMPONENT, f"the answer hides what was not done: {lines}", lines)
    typed = run.blueprint.output_type is not None
    return answer if typed or run.state.answer.done is not None else with_lines(answer, missing), False, error


async def _hidden(run: Execution, answer: str) -> list[LedgerEntry]:
    if run.in_experiment or not run.state.ledger.calls:  # in an experiment nothing acts
        return []
    from treadle._engine.receipts.admission import hidden

    return await read_beside(len(answer), hidden, run.state.ledger.entries, answer)
