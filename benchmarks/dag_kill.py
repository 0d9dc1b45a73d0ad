"""Kill a DAG run with SIGKILL while its steps are in progress, resume it, and count finished steps that were run again.

    python benchmarks/dag_kill.py                # at every record boundary and in every tool
    python benchmarks/dag_kill.py --every 6      # at every sixth of these instants

Every kill is a real SIGKILL of a real process that writes to a SQLite journal. The requests to the model and the
effects of the tools are lines in another file. Needs a system with fork (not Windows).
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

from crash_matrix import KillingJournal, kill_this_process

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
WAVES = ("abc", "de", "f")
"""Steps that can be in progress at the same time."""
VERDICT = {"achieved": True, "confidence": 1, "final_answer": "complete", "reasoning": "all steps are done"}

Row = Counter[str]


def model(log: Path) -> ScriptedModel:
    """Plans, judges, and calls the tool once in each step; each request for a step is a line in the log."""

    def reply(request: Request) -> Any:
        if request.component == "planner":
            return {"name": "make_plan", "args": {"steps": PLAN}}
        if request.component == "analyzer":
            return {"name": "judge", "args": VERDICT}
        name = next(text_of(m.content)[3] for m in request.messages if isinstance(m, UserMessage))
        write_line(log, f"asked {name}")
        if isinstance(request.messages[-1], ToolMessage):
            return f"result of {name}"
        return {"name": "work", "args": {"step": name}, "id": f"call_{name}"}

    return ScriptedModel(reply)


class Order:
    """Has the steps of a wave start together and end one after the other, without waiting for a time."""

    def __init__(self) -> None:
        self._arrived = {step: asyncio.Event() for step in NEEDS}
        self._ended = {step: asyncio.Event() for step in NEEDS}

    async def wait_for_turn(self, step: str) -> None:
        self._arrived[step].set()
        wave = next(wave for wave in WAVES if step in wave)
        for other in wave:
            await self._arrived[other].wait()
        for earlier in wave[: wave.index(step)]:
            await self._ended[earlier].wait()

    def end(self, step: str) -> None:
        self._ended[step].set()


def work_tool(log: Path, effect: Effect, order: Order | None, kill_in: tuple[str, str] | None) -> Tool:
    async def work(step: str) -> str:
        if order is not None:
            await order.wait_for_turn(step)
        if kill_in == (step, "before"):
            kill_this_process()
        write_line(log, f"effect {step}")
        if kill_in == (step, "after"):
            kill_this_process()
        if order is not None:
            order.end(step)
        return f"{step} is done"

    return tool(work, description="Do a step.", effect=effect)


def write_line(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")


def read_lines(log: Path) -> Row:
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def start(folder: Path, effect: Effect, *, after: int = 0, kill_in: tuple[str, str] | None = None) -> None:
    """Start the run; `after` and `kill_in` say where the process is killed."""

    async def main() -> None:
        log = folder / "log"
        journal = KillingJournal(folder / "journal.db", after)
        # What a killed call did is unknown, and its step does not say so: that is not what is measured here.
        tools = [work_tool(log, effect, Order(), kill_in)]
        agent = DagAgent(model(log), tools, journal=journal, receipts="off")
        await agent.run("go", run_id="run")
        await journal.aclose()

    asyncio.run(main())


def resume(folder: Path, effect: Effect) -> RunResult:
    """Resume the run; start it if it was killed before its first record."""

    async def main() -> RunResult:
        log = folder / "log"
        journal = SqliteJournal(folder / "journal.db")
        agent = DagAgent(model(log), [work_tool(log, effect, None, None)], journal=journal, receipts="off")
        try:
            try:
                return await agent.resume("run")
            except RunNotFoundError:
                return await agent.run("go", run_id="run")
        finally:
            await journal.aclose()

    return asyncio.run(main())


def was_killed(folder: Path, effect: Effect, **how: Any) -> bool:
    """Start the run in a forked process; whether that was killed before the end of the run."""
    pid = os.fork()
    if pid == 0:
        try:
            start(folder, effect, **how)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def steps_in(folder: Path) -> tuple[set[str], set[str]]:
    """The steps that are finished by the journal, and those that are started and not finished."""

    async def load() -> tuple[set[str], set[str]]:
        journal = SqliteJournal(folder / "journal.db")
        events = [record.event for record in await journal.load("run")]
        await journal.aclose()
        done = {event.step for event in events if isinstance(event, StepDone)}
        return done, {event.step for event in events if isinstance(event, StepStarted)} - done

    return asyncio.run(load())


def instants(every: int) -> Iterator[dict[str, Any]]:
    """In every tool, then after the first, second, ... append, without end."""
    in_tools: list[dict[str, Any]] = [{"kill_in": (name, when)} for name in NEEDS for when in ("before", "after")]
    yield from in_tools[::every]
    after = 1
    while True:
        yield {"after": after}
        after += every


def one_kill(effect: Effect, how: dict[str, Any]) -> Row | None:
    """One kill and its outcome; None when the run ended before that instant."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not was_killed(folder, effect, **how):
            return None
        finished, in_flight = steps_in(folder)
        before = read_lines(folder / "log")
        result = resume(folder, effect)
        total = read_lines(folder / "log")
        again = total - before
        statuses = [done["status"] for done in result.metadata["dag"]["steps"].values()]
        complete = result.answer == "complete" and len(statuses) == len(NEEDS)
        row: Row = Counter(kills=1, finished=len(finished), in_flight=len(in_flight), with_flight=int(bool(in_flight)))
        row["lost"] = int(not (complete and set(statuses) <= {"completed", "reused"}))
        row["run_again"] = sum(any(line.endswith(f" {step}") for line in again) for step in finished)
        row["doubled"] = sum(count - 1 for line, count in total.items() if line.startswith("effect"))
        row["missing"] = sum(not total[f"effect {step}"] for step in NEEDS)
        return row


def matrix(effect: Effect, every: int = 1) -> Row:
    sums: Row = Counter()
    most_in_flight = 0
    for how in instants(every):
        row = one_kill(effect, how)
        if row is None:
            break
        most_in_flight = max(most_in_flight, row["in_flight"])
        sums += row
    sums["most_in_flight"] = most_in_flight
    return sums


COLUMNS = {
    "kills": "kills tried",
    "with_flight": "with steps in flight",
    "most_in_flight": "most in flight",
    "finished": "steps finished before the kill",
    "run_again": "of these run again",
    "lost": "runs lost",
    "doubled": "effects doubled",
    "missing": "effects that never happened",
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    every: int = parser.parse_args().every
    print(f"| tool | {' | '.join(COLUMNS.values())} |\n{'|---' * (len(COLUMNS) + 1)}|")
    failures = 0
    effects: tuple[Effect, ...] = ("unsafe", "idempotent")
    for effect in effects:
        sums = matrix(effect, every)
        print(f"| {effect} | {' | '.join(str(sums[name]) for name in COLUMNS)} |", flush=True)
        failures += sums["lost"] + sums["run_again"] + (sums["doubled"] if effect == "unsafe" else sums["missing"])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
