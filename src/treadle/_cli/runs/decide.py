"""What a person decides about a run that somewhere else drives: approve, deny, answer, send a message, cancel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from treadle._agent.waiting import decided, leave_decisions, leave_results, waiting_calls
from treadle._cli.display.text import say
from treadle._cli.runs.resume import resume
from treadle._cli.setup.launch import launch_of
from treadle._engine.core.decisions import Answer
from treadle._journal import InboxItem, Journal
from treadle._types.errors import ConfigError, RunBusyError, ToolError
from treadle._types.events import Record
from treadle._types.ids import fresh_id
from treadle._types.messages import ToolCall
from treadle._types.state import fold


async def decide(args: argparse.Namespace, journal: Journal) -> int:
    """Put the decision into the run's inbox before the run is resumed: it is not lost if that cannot be done here."""
    records = await _load(args, journal, "decide about")
    state = fold(records)
    waiting = [call for call in waiting_calls(state) if not (args.allow and call.external)]
    answer: Answer = {"allow": args.allow, "always": args.always, "note": args.note, "args": args.args}
    chosen = _chosen(args, waiting)
    if args.args is not None and len(chosen) != 1:
        raise ConfigError("--args are those of one call: name it")
    decisions = await decided(journal, args.run, state, dict.fromkeys(chosen, answer))
    await leave_decisions(journal, args.run, decisions)
    for decision in decisions:
        say(f"{decision.tool} is {'allowed' if decision.allow else 'refused'}")
    return await _continue(args, journal, records)


async def answer(args: argparse.Namespace, journal: Journal) -> int:
    """Put the result of a call that is not executed here into the run's inbox before the run is resumed."""
    records = await _load(args, journal, "answer in")
    state = fold(records)
    waiting = [call for call in waiting_calls(state) if call.external]
    args.all, args.calls = False, [args.call] if args.call else []
    [call_id] = _chosen(args, waiting, "a result")
    result: Any = sys.stdin.read() if args.result == "-" and args.error is None else args.result
    if args.error is not None:
        result = ToolError(args.error)
    if result is None:
        raise ConfigError("say what came of the call: --result TEXT ('-' reads stdin), or --error TEXT")
    for done in await leave_results(journal, args.run, state, {call_id: result}):
        say(f"{done.tool} {'failed' if done.error else 'has its result'}")
    return await _continue(args, journal, records)


async def _load(args: argparse.Namespace, journal: Journal, verb: str) -> list[Record]:
    records = await journal.load(args.run)
    if records[0].parent:
        raise ConfigError(f"{args.run} is the run of a sub-agent: {verb} its parent {records[0].parent} instead")
    return records


async def _continue(args: argparse.Namespace, journal: Journal, records: Sequence[Record]) -> int:
    if args.temporal:
        from treadle._durable.temporal import TemporalSubmitter

        await (await TemporalSubmitter.connect(args.temporal, journal)).wake(args.run)
    elif args.leave or not (args.file or args.model or args.tools or launch_of(records)):
        say(f"it goes on when it is resumed: treadle runs resume {args.run[:8]}, or where it was started")
    else:
        try:
            return await resume(args, journal, args.run)
        except RunBusyError:
            say("another process drives the run: it reads the decision when the run pauses again")
    return 0


def _chosen(args: argparse.Namespace, waiting: Sequence[ToolCall], what: str = "approval") -> list[str]:
    if not waiting:
        raise ConfigError(f"no call of run {args.run[:8]} waits for {what}")
    if args.all or args.calls:
        return [call.id for call in waiting] if args.all else list(args.calls)
    if len(waiting) > 1:
        names = ", ".join(f"{call.id} ({call.name})" for call in waiting)
        raise ConfigError(f"several calls wait: name those you mean, or --all; waiting: {names}")
    return [waiting[0].id]


async def send_message(args: argparse.Namespace, journal: Journal) -> int:
    await _refuse_ended(journal, args.run)
    item = InboxItem(fresh_id(), args.run, "message", {"text": args.text})
    await journal.put(item)
    if fold(await journal.load(args.run)).finished is not None and await journal.recall(args.run, item.id):
        raise ConfigError(f"run {args.run[:8]} has ended before it could read this: ask in a new run")
    print(f"sent to run {args.run[:8]}, which reads it after its current step")
    return 0


async def cancel_run(args: argparse.Namespace, journal: Journal) -> int:
    await _refuse_ended(journal, args.run)
    await journal.put(InboxItem(fresh_id(), args.run, "cancel"))
    print(f"run {args.run[:8]} will stop after its current step")
    return 0


async def _refuse_ended(journal: Journal, run_id: str) -> None:
    if (finished := fold(await journal.load(run_id)).finished) is not None:
        raise ConfigError(f"run {run_id[:8]} has ended ({finished.stop_reason}) and reads no more messages")
