"""The calls of one reply: each gets exactly one result, whatever happens to it."""

from __future__ import annotations

import asyncio
from typing import Any

from treadle._engine.acting.execute import admit, execute_call
from treadle._engine.acting.together import Admitted, Undecided, ask_together, held
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause, raise_together
from treadle._tools.base import ToolOutcome
from treadle._types.state_values import OpenCall

LOST_EXTRAS = (
    "the objects an earlier tool left for this call are gone (the process was restarted): run that tool again first"
)
UNKNOWN_OUTCOME = (
    "The outcome of this call of '{tool}' is unknown: the process stopped while it ran, and it is not safe to run it "
    "again. It may or may not have taken effect; check before you repeat it."
)

Judged = tuple[OpenCall, Admitted | ToolOutcome]


async def run_tools(run: Execution) -> None:
    """Admit the calls that wait, then run them: side by side where allowed, results in call order.

    Nothing runs before all are admitted: a person who is asked about one of them decides about an untouched round.
    """
    extras, run.calls.extras = run.calls.extras, {}
    try:
        judged = await _admit_all(run, extras)
        outcomes: dict[str, ToolOutcome] = {}
        for batch in _batches(run, judged):
            await _run_batch(run, batch, extras, outcomes)
    except Pause:
        run.calls.extras = extras
        raise
    run.early.discard()
    if not any(outcome.executed and not outcome.error for outcome in outcomes.values()):
        run.calls.extras = dict(extras)  # no call has used them: they wait for one that does
    for open_call, _ in judged:
        outcome = outcomes.get(open_call.call.id)
        if outcome is not None:
            run.calls.extras.update(outcome.extras)


async def _admit_all(run: Execution, extras: dict[str, Any]) -> list[Judged]:
    """A verdict for each waiting call; `Pause` names every call that waits for a person. Who can be asked is asked
    about all of them together."""
    lost_extras = run.state.calls.extras_pending and not extras
    verdicts: dict[str, Admitted | ToolOutcome] = {}
    pauses: dict[str, Pause] = {}
    pending = [(index, one) for index, one in enumerate(run.state.calls.open.values()) if one.done is None]
    for index, open_call in pending:
        call = open_call.call
        refusal = _refusal(run, open_call, index, lost_extras)
        try:
            verdicts[call.id] = refusal or await admit(run, call, extras=extras, ask=False)
        except Pause as pause:
            pauses[call.id] = pause
    if pauses:
        await _decide(run, verdicts, pauses)
    return [(open_call, verdicts[open_call.call.id]) for _, open_call in pending]


async def _decide(run: Execution, verdicts: dict[str, Admitted | ToolOutcome], pauses: dict[str, Pause]) -> None:
    """Ask about the calls that wait for a person, and add their verdicts."""
    undecided = {call_id: pause for call_id, pause in pauses.items() if isinstance(pause, Undecided)}
    verdicts |= held(run, list(undecided.values())) if undecided else {}
    open_now = {call_id: one for call_id, one in undecided.items() if call_id not in verdicts}
    if len(open_now) > 1:
        await ask_together(run, [one.call for one in open_now.values()])
    for call_id, one in open_now.items():
        try:
            verdicts[call_id] = await one.settle()
        except Pause as pause:
            pauses[call_id] = pause
    raise_together([pause for call_id, pause in pauses.items() if call_id not in verdicts])


def _refusal(run: Execution, open_call: OpenCall, index: int, lost_extras: bool) -> ToolOutcome | None:
    """The outcome of a call that must not be made, whatever policy says."""
    call = open_call.call
    if open_call.started and open_call.effect == "unsafe":
        return ToolOutcome(UNKNOWN_OUTCOME.replace("{tool}", call.name), "unknown_outcome")
    only_one = run.settings.one_tool_per_step
    if index and (only_one is True or (only_one == "text" and not run.current.dialect.native)):
        text = "Not run: only one tool call is allowed per step. Call it again if it is still needed."
        return ToolOutcome(text, "rejected", executed=False)
    most = run.settings.max_calls
    if most is not None and index >= most:
        text = f"Not run: at most {most} calls are run per reply. Call it again if it is still needed."
        return ToolOutcome(text, "rejected", executed=False)
    if lost_extras:
        return ToolOutcome(f"Tool '{call.name}' was not run: {LOST_EXTRAS}.", "lost_extras", executed=False)
    return None


def _batches(run: Execution, judged: list[Judged]) -> list[list[Judged]]:
    """Calls that may run side by side, together; a tool that is not concurrency-safe stands alone."""
    if len(judged) == 1:
        return [judged]
    if run.settings.max_parallel == 1:
        return [[item] for item in judged]
    batches: list[list[Judged]] = []
    joinable = False
    for item in judged:
        verdict = item[1]
        tool = verdict.tool if isinstance(verdict, Admitted) else None
        alone = tool is not None and (not tool.concurrent or (run.hooks.acts_alone and tool.effect != "pure"))
        if joinable and not alone:
            batches[-1].append(item)
        else:
            batches.append([item])
        joinable = not alone
    return batches


async def _run_batch(
    run: Execution, batch: list[Judged], extras: dict[str, Any], outcomes: dict[str, ToolOutcome]
) -> None:
    if len(batch) == 1:
        call, verdict = batch[0][0].call, batch[0][1]
        outcomes[call.id] = await execute_call(run, call, verdict=verdict, extras=extras)
        return
    slots = asyncio.Semaphore(run.settings.parallel)

    async def in_turn(open_call: OpenCall, verdict: Admitted | ToolOutcome) -> None:
        call = open_call.call
        async with slots:
            outcomes[call.id] = await execute_call(run, call, verdict=verdict, extras=extras)

    tasks = [asyncio.ensure_future(in_turn(*item)) for item in batch]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    pauses: list[Pause] = []
    for task in tasks:
        try:
            task.result()
        except Pause as pause:
            pauses.append(pause)
    raise_together(pauses)
