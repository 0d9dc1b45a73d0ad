"""Kill a DAG run with -9 while its steps are under way, resume it, and count finished steps that were run again.

    python benchmarks/dag_kill.py                # at every record boundary and in every tool
    python benchmarks/dag_kill.py --every 6      # at every sixth of these instants

Every kill is a real SIGKILL of a real process that writes to a SQLite journal. What the model was asked and what the
tools did are lines in a file outside. Needs a system with fork (not Windows).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crash_matrix import DyingJournal, die

from treadle import DagAgent, ScriptedModel, Tool, tool
from treadle._engine.result import RunResult
from treadle._journal.sqlite import SqliteJournal
from treadle._tools.base import Effect
from treadle._types.errors import RunNotFoundError
from treadle._types.events import StepDone, StepStarted
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.request import Request

NEEDS: dict[str, str] = {"a": "", "b": "", "c": "", "d": "ab", "e": "bc", "f": "de"}
PLAN = [{"id": name, "task": f"do {name}", "dependencies": list(needs)} for name, needs in NEEDS.items()]
PAUSE = 0.02

Row = Counter[str]


def model(outside: Path) -> ScriptedModel:
    """Plans, judges, and in a step calls the tool once; each request for a step is a line in the file outside."""

    def reply(request: Request) -> Any:
        if request.component == "planner":
            return {"name": "make_plan", "args": {"steps": PLAN}}
        if request.component == "analyzer":
            return {
                "name": "judge",
                "args": {"achieved": True, "confidence": 1, "final_answer": "the whole", "reasoning": "all there"},
            }
        name = next(text_of(m.content)[3] for m in request.messages if isinstance(m, UserMessage))
        note(outside, f"asked {name}")
        if isinstance(request.messages[-1], ToolMessage):
            return f"result of {name}"
        return {"name": "work", "args": {"step": name}, "id": f"call_{name}"}

    return ScriptedModel(reply)


def worker(outside: Path, effect: Effect, kill_in: tuple[str, str] | None) -> Tool:
    async def work(step: str) -> str:
        await asyncio.sleep(PAUSE * (1 + ord(step) % 3))  # steps of a wave end one after the other
        if kill_in == (step, "before"):
            die()
        note(outside, f"effect {step}")
        if kill_in == (step, "after"):
            die()
        return f"{step} is done"

    return tool(work, description="Do a step.", effect=effect)


def note(outside: Path, line: str) -> None:
    with outside.open("a") as file:
        file.write(line + "\n")


def noted(outside: Path) -> Row:
    return Counter(outside.read_text().splitlines()) if outside.exists() else Counter()


def drive(folder: Path, effect: Effect, *, after: int = 0, kill_in: tuple[str, str] | None = None) -> RunResult:
    """Start the run, or go on with it if it is in the journal."""

    async def main() -> RunResult:
        journal = DyingJournal(folder / "journal.db", after)
        agent = DagAgent(model(folder / "outside"), [worker(folder / "outside", effect, kill_in)], journal=journal)
        try:
            try:
                return await agent.resume("run")
            except RunNotFoundError:
                return await agent.run("go", run_id="run")
        finally:
            await journal.aclose()

    return asyncio.run(main())


def killed(folder: Path, effect: Effect, **how: Any) -> bool:
    """Drive the run in a forked process; whether it was killed before it came to its end."""
    pid = os.fork()
    if pid == 0:
        try:
            drive(folder, effect, **how)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def steps_in(folder: Path) -> tuple[set[str], set[str]]:
    """The steps the log calls finished, and those it calls started and not finished."""

    async def load() -> tuple[set[str], set[str]]:
        journal = SqliteJournal(folder / "journal.db")
        events = [record.event for record in await journal.load("run")]
        await journal.aclose()
        done = {event.step for event in events if isinstance(event, StepDone)}
        return done, {event.step for event in events if isinstance(event, StepStarted)} - done

    return asyncio.run(load())


def instants(every: int) -> Iterator[dict[str, Any]]:
    """In every tool, then after the first, second, ... record that was stored, without end."""
    in_tools: list[dict[str, Any]] = [{"kill_in": (name, when)} for name in NEEDS for when in ("before", "after")]
    yield from in_tools[::every]
    after = 1
    while True:
        yield {"after": after}
        after += every


def one(effect: Effect, how: dict[str, Any]) -> Row | None:
    """One kill and what became of it; None when the run was over before that instant."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not killed(folder, effect, **how):
            return None
        finished, in_flight = steps_in(folder)
        before = noted(folder / "outside")
        result = drive(folder, effect)
        total = noted(folder / "outside")
        again = total - before
        statuses = [done["status"] for done in result.metadata["dag"]["steps"].values()]
        whole = (
            result.answer == "the whole" and len(statuses) == len(NEEDS) and set(statuses) <= {"completed", "reused"}
        )
        row: Row = Counter(
            kills=1,
            lost=int(not whole),
            finished=len(finished),
            in_flight=len(in_flight),
            with_flight=int(bool(in_flight)),
        )
        row["run_again"] = sum(any(line.endswith(f" {step}") for line in again) for step in finished)
        row["doubled"] = sum(count - 1 for line, count in total.items() if line.startswith("effect"))
        row["missing"] = sum(not total[f"effect {step}"] for step in NEEDS)
        return row


def matrix(effect: Effect, every: int = 1) -> Row:
    found: Row = Counter()
    most = 0
    for how in instants(every):
        row = one(effect, how)
        if row is None:
            break
        most = max(most, row["in_flight"])
        found += row
    found["most_in_flight"] = most
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    every: int = parser.parse_args().every
    columns = ("kills", "with_flight", "most_in_flight", "finished", "run_again", "lost", "doubled", "missing")
    titles = ("tool", "kills tried", "with steps in flight", "most in flight",
              "steps finished before the kill", "of these run again",
              "runs lost", "effects doubled", "effects that never happened")  # fmt: skip
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    bad = 0
    effects: tuple[Effect, ...] = ("unsafe", "idempotent")
    for effect in effects:
        found = matrix(effect, every)
        print(f"| {effect} | {' | '.join(str(found[name]) for name in columns)} |", flush=True)
        bad += found["lost"] + found["run_again"] + (found["doubled"] if effect == "unsafe" else found["missing"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
