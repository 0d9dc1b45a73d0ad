"""Runs that were broken on purpose, each with one known cause: where does `find_causes` rank it, and at what price?
Beside it, what a model finds that is asked to read the trace.

    python benchmarks/why_broken.py scripted [--out results.jsonl]
    python benchmarks/why_broken.py blind    [--out results.jsonl]
    python benchmarks/why_broken.py local --model qwen2.5-coder-0.5b [--only NAME] [--requests 16] [--out results.jsonl]
    python benchmarks/why_broken.py read --set scripted --model qwen2.5-coder-0.5b [--out results.jsonl]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from why.cases import Broken

from treadle import Agent
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._local.model import LocalModel
from treadle._models.base import complete
from treadle._types.events import MessageAdded, Record, RunFinished, RunStarted, ThinkDone, ToolDone
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import Request


async def broken_run(case: Broken, journal: Any) -> tuple[Agent[Any, Any], str, str]:
    agent = case.agent(journal)
    result = await agent.run(case.question, history=case.history)
    return agent, result.run_id, result.answer


async def searched(case: Broken, requests: int, on_experiment: Any = None) -> dict[str, Any]:
    """The row of one case. A run that does not go wrong is no case, and says so."""
    agent, run_id, answer = await broken_run(case, MemoryJournal())
    row: dict[str, Any] = {"case": case.name, "answer": answer}
    begun = time.monotonic()
    options: dict[str, Any] = {"requests": requests, "parallel": 1, **case.expected, **case.options()}
    found = await find_causes(agent, run_id, on_experiment=on_experiment, **options)
    ranks = [rank for rank, change in enumerate(found.places, 1) if case.is_cause(change)]
    return row | {
        "rank": ranks[0] if ranks else 0,
        "first": str(found.causes[0].change) if found.causes else "",
        "causes": len(found.causes),
        "requests": found.requests,
        "reused": found.reused,
        "experiments": len(found.experiments),
        "complete": found.complete,
        "seconds": round(time.monotonic() - begun, 1),
    }


def trace_of(records: list[Record], most: int) -> str:
    """What a person would read of a run, as short as it can be."""
    lines: list[str] = []
    for record in records:
        event = record.event
        if isinstance(event, RunStarted):
            lines.append(f"SYSTEM: {event.system}")
            lines += [f"TOOL {tool.name}: {tool.description}" for tool in event.tools]
            settings = ", ".join(f"{name}={value}" for name, value in event.settings.items())
            lines.append(f"SETTINGS: {settings}, dialect={event.dialect}")
            lines += [
                f"EARLIER {m.role}: {text_of(getattr(m, 'content', '')) or getattr(m, 'text', '')}"
                for m in event.history
            ]  # type: ignore[union-attr]
            lines.append(f"USER: {text_of(event.question)}")
        elif isinstance(event, MessageAdded):
            lines.append(f"NOTE of {event.component}: {text_of(getattr(event.message, 'content', ''))}")
        elif isinstance(event, ThinkDone) and event.message.calls:
            lines += [f"CALL {call.name} {call.args}" for call in event.message.calls]
        elif isinstance(event, ToolDone):
            lines.append(f"RESULT of {event.name}: {text_of(event.content)[:300]}")
        elif isinstance(event, RunFinished):
            lines.append(f"ANSWER: {event.answer or event.error}")
    text = "\n".join(lines)
    return text if len(text) <= most else f"{text[: most // 2]}\n...\n{text[-most // 2 :]}"


async def read(case: Broken, model: Any, most: int) -> dict[str, Any]:
    """What a model says that is given the trace, what was expected, and asked for the cause. It counts as found when
    what it says has one of the words by which the cause is known: that is generous."""
    journal = MemoryJournal()
    _, run_id, _ = await broken_run(case, journal)
    trace = trace_of(await journal.load(run_id), most)
    wanted = f"the call {case.call}" if case.call else case.answer
    asked = (
        f"{trace}\n\nThe answer is wrong; expected was: {wanted}. Which one line or setting above caused it? Quote it."
    )
    messages = [SystemMessage("You find the cause of mistakes in logs."), UserMessage(asked)]
    reply = await complete(model, Request(messages, temperature=0.0, max_tokens=40, component="reader"))
    said = reply.text.strip()
    return {"case": case.name, "read": any(name.casefold() in said.casefold() for name in case.names), "said": said}


def _cases(args: argparse.Namespace, model: Any) -> list[Broken]:
    name = args.set if args.what == "read" else args.what
    if name == "local":
        from why.local import cases

        found = cases(model, LocalModel(args.model, threads=args.threads, n_ctx=2048))
    elif name == "blind":
        from why.blind import CASES as found
    else:
        from why.scripted import CASES as found
    return [case for case in found if not args.only or case.name in args.only]


async def main(args: argparse.Namespace) -> int:
    needed = args.what in ("local", "read")
    model = LocalModel(args.model, threads=args.threads, n_ctx=2048, adapter=False) if needed else None
    rows: list[dict[str, Any]] = []
    for case in _cases(args, model):
        try:
            if args.what == "read":
                row = await read(case, model, args.chars)
            else:
                row = await searched(case, args.requests, _show if args.verbose else None)
            if args.what == "local" and args.reader:
                row |= await read(case, model, args.chars)
        except Exception as error:
            row = {"case": case.name, "failed": f"{type(error).__name__}: {error}"}
        rows.append(row)
        print(msgspec.json.encode(row).decode(), flush=True)
        if args.out:
            _keep(args.out, row)
    if args.what != "read":
        first = sum(row.get("rank") == 1 for row in rows)
        print(f"ranked first: {first} of {len(rows)}; model requests: {sum(row.get('requests', 0) for row in rows)}")
    if any("read" in row for row in rows):
        print(f"named by the reader: {sum(bool(row.get('read')) for row in rows)} of {len(rows)}")
    if model is not None:
        await model.aclose()
    return 0


def _keep(path: str, row: dict[str, Any]) -> None:
    with open(path, "ab") as file:
        file.write(msgspec.json.encode(row) + b"\n")


def _show(experiment: Any) -> None:
    mark = "+" if experiment.helps else "-"
    answer = experiment.answer[:60]
    print(
        f"  {mark} step {experiment.step}: {experiment.change} -> {answer!r} {experiment.seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scripted", "blind", "local", "read"))
    parser.add_argument("--set", choices=("scripted", "blind", "local"), default="scripted")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--chars", type=int, default=1200, help="how much of the trace the reader gets")
    parser.add_argument("--reader", action="store_true", help="ask the same model to read the trace, too")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--out", default="")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(_options())))
