"""What the runs inside a run have spent, in the log of that run: whatever way they end, and after a kill."""

from __future__ import annotations

from collections.abc import Sequence

from treadle._engine.core.execution import Execution
from treadle._engine.core.experiment import is_search
from treadle._journal.base import Journal
from treadle._types.events import ChildSpent, Record, ToolDone
from treadle._types.state import RunState, fold
from treadle._types.usage import NO_USAGE, Usage

_MOST = 100_000
"""Children of one run: as many as a journal is asked for."""


async def settle_with_parent(run: Execution) -> None:
    """The run is over in this process: its parent records what it has spent up to now."""
    parent = run.parent
    if parent is None or run.life.abandoned or parent.state.started is None or parent.state.finished is not None:
        return
    await _record(parent, run.id.removeprefix(f"{parent.id}."), run.state.usage)


async def settle_children(run: Execution) -> None:
    """Before a run is resumed: what its children have spent in a process that was killed is counted from their logs."""
    if run.log.journal is None:
        return
    before = run.state.usage
    for child, usage in (await _spent_inside(run.log.journal, run.id, run.state, run.log.records)).items():
        await _record(run, child, usage)
    run.budget.charge(run.state.usage - before)


async def _record(run: Execution, child: str, usage: Usage) -> None:
    if run.state.spending.children.get(child, NO_USAGE) != usage:
        await run.emit(ChildSpent(child, usage))


async def _spent_inside(journal: Journal, run_id: str, state: RunState, records: Sequence[Record]) -> dict[str, Usage]:
    """Return what each run inside a run has spent with everything below it, except where the log has counted it
    otherwise."""
    spent: dict[str, Usage] = {}
    for info in await journal.list(parent=run_id, limit=_MOST):
        if is_search(info.run_id):  # about the run, not of it
            continue
        child = info.run_id.removeprefix(f"{run_id}.")
        if child not in state.spending.children and _counted_by_result(info.run_id, child, state, records):
            continue
        child_records = await journal.load(info.run_id)
        child_state = fold(child_records)
        usage = child_state.usage
        for below, more in (await _spent_inside(journal, info.run_id, child_state, child_records)).items():
            usage += more - child_state.spending.children.get(below, NO_USAGE)
        spent[child] = usage
    return spent


def _counted_by_result(child_id: str, child: str, state: RunState, records: Sequence[Record]) -> bool:
    """In logs older than `ChildSpent`, the result of the call or the step that was the child has its usage."""
    steps = [step for step, run in state.dag.runs.items() if run == child_id]
    if any(done.step in steps and done.usage != NO_USAGE for done in state.dag.steps.values()):
        return True
    results = (record.event for record in records)
    return any(isinstance(event, ToolDone) and event.call_id == child and event.usage != NO_USAGE for event in results)
