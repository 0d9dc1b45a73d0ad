"""`runs list` and `runs show`."""

from __future__ import annotations

import argparse
import sys
import time

import msgspec

from treadle._cli.display.table import table
from treadle._cli.display.text import ago, arguments, clean, one_line, plural, seconds, spent, wanted, wrapped
from treadle._cli.runs.lookup import name_of, notes_of, status_of
from treadle._engine.result import RunResult, result_of
from treadle._inspect.search import first_match
from treadle._journal import Journal
from treadle._journal.base import RunInfo
from treadle._record.findings import findings
from treadle._types.events import (
    AnswerDone,
    Approved,
    Event,
    Exchanged,
    Forked,
    Injected,
    Record,
    RunFinished,
    ThinkDone,
    ThinkFailed,
    ThinkStarted,
    ToolDone,
    ToolStarted,
)
from treadle._types.messages import text_of, with_names
from treadle._types.state import RunState, fold


async def _chosen(args: argparse.Namespace, journal: Journal) -> list[RunInfo]:
    """One run more than are shown, newest first. Words are looked for in names and notes, and in what was said."""

    async def listed(after: str = args.after, **words: str) -> list[RunInfo]:
        return await journal.list(
            limit=args.limit + 1,
            after=after,
            status=args.status or "",
            parent=None if args.all else "",
            agent=args.agent,
            model=args.model,
            tag=args.tag,
            **words,  # pyright: ignore[reportArgumentType]
        )

    if not args.search:
        return await listed()
    matches = {info.run_id: info for info in await listed(text=args.search)}
    words, after, more = args.search.casefold().split(), args.after, 0
    while more <= args.limit and (page := await listed(after, said=args.search)):
        after = page[-1].cursor
        for info in page:  # the journal leaves out most runs without the words; the logs of the others are read
            if info.run_id not in matches and first_match(await journal.load(info.run_id), words):
                matches[info.run_id] = info
                more += 1
    return sorted(matches.values(), key=lambda info: info.created, reverse=True)[: args.limit + 1]


async def list_runs(args: argparse.Namespace, journal: Journal) -> int:
    chosen = await _chosen(args, journal)
    infos = chosen[: args.limit]
    if args.json:
        for info in infos:
            sys.stdout.write(msgspec.json.encode(info).decode() + "\n")
        return 0
    if args.ids:
        print("".join(f"{info.run_id}\n" for info in infos), end="")
        return 0
    if not infos:
        filtered = args.agent or args.model or args.tag or args.search or args.after
        none = 'no runs yet: start one with treadle run "question"'
        print(f"no {args.status} runs" if args.status else "no runs match" if filtered else none)
        return 0
    width = 8 if not args.all else max(len(info.run_id) for info in infos)
    rows = [
        [
            info.run_id[:width],
            status_of(info),
            ago(info.updated),
            str(info.records),
            info.model,
            name_of(info),
        ]
        for info in infos
    ]
    print(table(("RUN", "STATUS", "WHEN", "RECORDS", "MODEL", "QUESTION"), rows, right=(3,)))
    if len(chosen) > len(infos):
        print(f"older ones: --after {infos[-1].cursor}", file=sys.stderr)
    return 0


async def show_run(args: argparse.Namespace, journal: Journal) -> int:
    records = await journal.load(args.run)
    if args.json:
        for record in records:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
        return 0
    if args.records:
        began = records[0].time
        rows = [[str(r.seq), f"{r.time - began:.3f}", _label(r.event), summary(r)] for r in records]
        print(table(("SEQ", "SECONDS", "EVENT", "WHAT"), rows, right=(0, 1)))
        return 0
    state = fold(records)
    children = await journal.list(parent=args.run, limit=1000)
    notes = notes_of(await journal.info(args.run))
    _print_run(records, state, [child.run_id for child in children], notes)
    if any(isinstance(record.event, Exchanged) for record in records) and (found := findings(records)):
        print("\nfindings")
        for finding in found:
            print(wrapped(f"{clean(finding.kind)} (record {finding.seq}): {clean(finding.text)}", "  "))
    return 0


def _print_run(records: list[Record], state: RunState, children: list[str], notes: dict[str, str]) -> None:
    run_id = records[0].run
    result = result_of(state, run_id)
    forked = next((record.event for record in reversed(records) if isinstance(record.event, Forked)), None)
    messages = [text for record in records if isinstance(record.event, Injected) for text in record.event.texts]
    facts = {
        "run": run_id,
        "when": f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(state.created))} ({ago(state.created)})",
        "agent": f"{state.started.agent if state.started else '?'} on {state.model}, dialect {state.dialect}",
        "tools": ", ".join(tool.name for tool in state.tools) or "none",
        "status": _status(state, result),
        "cost": f"{plural(result.iterations or len(state.dag.steps), 'step')}, {seconds(result.elapsed)}, "
        f"{spent(result.usage)}",
    }
    if state.finished is not None and state.finished.error:
        facts["error"] = state.finished.error
    if forked is not None:
        facts["fork of"] = forked.origin
    if children:
        facts["children"] = ", ".join(children)
    facts |= notes
    for name, value in facts.items():
        print(wrapped(f"{name:9}{clean(value)}", rest=" " * 9))
    print(f"\nquestion\n{_indented(with_names(state.started.question) if state.started else '')}")
    for text in messages:
        print(f"\nsaid while it worked\n{_indented(text)}")
    if state.steps:
        rows = [
            [
                str(step.iteration),
                step.tool,
                arguments(step.args, 60),
                step.error,
                seconds(step.elapsed),
                one_line(step.observation, 400),
            ]
            for step in state.steps
        ]
        print("\n" + table(("STEP", "TOOL", "ARGUMENTS", "ERROR", "TIME", "RESULT"), rows, right=(0, 4)))
    for call in result.pending:
        what, command = ("its result", "answer") if call.external else ("approval", "approve")
        print(wrapped(f"\nwaits for {what}: {clean(call.call_id)}  {clean(call.tool)} {arguments(call.args, 300)}"))
        decide = f"treadle runs {command} {run_id[:8]} {clean(call.call_id)}{' --result TEXT' if call.external else ''}"
        print(wrapped(f"why: {clean(call.why)}; {'answer' if call.external else 'decide'} with: {decide}", "  "))
    if result.answer:
        print(f"\nanswer\n{_indented(result.answer)}")


def _status(state: RunState, result: RunResult) -> str:
    if state.finished:
        return result.stop_reason
    if state.paused is not None and state.paused.parked:
        return f"parked: {state.paused.reason}"
    return "paused" if state.paused else "unfinished: resume it with treadle runs resume"


def _indented(text: str) -> str:
    return wrapped(clean(text), "  ")


def _label(event: Event) -> str:
    return "refused" if isinstance(event, Approved) and not event.allow else str(event.__struct_config__.tag)


def summary(record: Record) -> str:
    """A record in one line."""
    event: Event = record.event
    match event:
        case ThinkStarted():
            return f"{event.component}, step {event.iteration}"
        case ThinkDone():
            calls = ", ".join(f"{call.name}({arguments(call.args, 60)})" for call in event.message.calls)
            text = calls or event.problem or event.answer or event.message.text
            options = f", wanted: {wanted(event.options)}" if event.options else ""
            return f"{event.component}: {one_line(text, 200)} [{spent(event.usage)}{options}]"
        case ThinkFailed():
            return one_line(event.error, 200)
        case ToolStarted():
            return f"{event.call.name}({arguments(event.call.args, 100)})"
        case ToolDone():
            return f"{event.name}: {event.error + ': ' if event.error else ''}{one_line(text_of(event.content), 200)}"
        case AnswerDone():
            return one_line(event.text, 200)
        case RunFinished():
            return f"{event.stop_reason}{': ' + event.error if event.error else ''}"
        case _:
            fields = msgspec.to_builtins(event)
            fields.pop("type", None)
            return one_line(", ".join(f"{name}: {one_line(str(value), 60)}" for name, value in fields.items()), 200)
