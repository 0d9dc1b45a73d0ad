"""What a person decides about a run that somewhere else drives: approve, deny, answer, send a message, cancel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._agent.waiting import decided, leave_decisions, leave_results, waiting_calls
from treadle._cli.display.text import clean
from treadle._cli.runs.lookup import find_run
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
    run_id, records = await _load(args, journal, "decide about")
    state = fold(records)
    waiting = [call for call in waiting_calls(state) if not (args.allow and call.external)]
    answer: Answer = {"allow": args.allow, "always": args.always, "note": args.note, "args": _arguments(args.args)}
    chosen = _chosen(args, waiting)
    if args.args is not None and len(chosen) != 1:
        raise ConfigError("--args are those of one call: name it")
    decisions = await decided(journal, run_id, state, dict.fromkeys(chosen, answer))
    await leave_decisions(journal, run_id, decisions)
    for decision in decisions:
        _say(f"{decision.tool} is {'allowed' if decision.allow else 'refused'}")
    return await _continue(args, journal, run_id, records)


async def answer(args: argparse.Namespace, journal: Journal) -> int:
    """Put the result of a call that is not executed here into the run's inbox before the run is resumed."""
    run_id, records = await _load(args, journal, "answer in")
    state = fold(records)
    waiting = [call for call in waiting_calls(state) if call.external]
    args.all, args.calls = False, [args.call] if args.call else []
    [call_id] = _chosen(args, waiting, "a result")
    result: Any = sys.stdin.read() if args.result == "-" and args.error is None else args.result
    if args.error is not None:
        result = ToolError(args.error)
    if result is None:
        raise ConfigError("say what came of the call: --result TEXT ('-' reads stdin), or --error TEXT")
    for done in await leave_results(journal, run_id, state, {call_id: result}):
        _say(f"{done.tool} {'failed' if done.error else 'has its result'}")
    return await _continue(args, journal, run_id, records)


async def _load(args: argparse.Namespace, journal: Journal, verb: str) -> tuple[str, list[Record]]:
    run_id = await find_run(journal, args.run)
    records = await journal.load(run_id)
    if records[0].parent:
        raise ConfigError(f"{run_id} is the run of a sub-agent: {verb} its parent {records[0].parent} instead")
    return run_id, records


async def _continue(args: argparse.Namespace, journal: Journal, run_id: str, records: Sequence[Record]) -> int:
    if args.temporal:
        from treadle._durable.temporal import TemporalSubmitter

        await (await TemporalSubmitter.connect(args.temporal, journal)).wake(run_id)
    elif args.leave or not (args.file or args.model or args.tools or launch_of(records)):
        _say(f"it goes on when it is resumed: treadle runs resume {run_id[:8]}, or where it was started")
    else:
        try:
            return await resume(args, journal, run_id)
        except RunBusyError:
            _say("another process drives the run: it reads the decision when the run pauses again")
    return 0


def _chosen(args: argparse.Namespace, waiting: Sequence[ToolCall], what: str = "approval") -> list[str]:
    if not waiting:
        raise ConfigError(f"no call of run {args.run} waits for {what}")
    if args.all or args.calls:
        return [call.id for call in waiting] if args.all else list(args.calls)
    if len(waiting) > 1:
        names = ", ".join(f"{call.id} ({call.name})" for call in waiting)
        raise ConfigError(f"several calls wait: name those you mean, or --all; waiting: {names}")
    return [waiting[0].id]


def _arguments(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f'--args must be a JSON object, such as \'{{"path": "a.txt"}}\': {error}') from None


def _say(text: str) -> None:
    print(clean(text), file=sys.stderr, flush=True)


async def send_message(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await _unfinished(journal, args.run)
    item = InboxItem(fresh_id(), run_id, "message", {"text": args.text})
    await journal.put(item)
    if fold(await journal.load(run_id)).finished is not None and await journal.recall(run_id, item.id):
        raise ConfigError(f"run {run_id[:8]} has ended before it could read this: ask in a new run")
    print(f"sent to run {run_id[:8]}, which reads it after its current step")
    return 0


async def cancel_run(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await _unfinished(journal, args.run)
    await journal.put(InboxItem(fresh_id(), run_id, "cancel"))
    print(f"run {run_id[:8]} will stop after its current step")
    return 0


async def _unfinished(journal: Journal, typed: str) -> str:
    run_id = await find_run(journal, typed)
    if (finished := fold(await journal.load(run_id)).finished) is not None:
        raise ConfigError(f"run {run_id[:8]} has ended ({finished.stop_reason}) and reads no more messages")
    return run_id
