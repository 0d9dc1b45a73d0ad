"""Kill a run with -9 after every record and in the middle of every tool, resume it, count what was lost or repeated.

    python benchmarks/crash_matrix.py            # prints: kills tried, runs lost, effects doubled

Every kill is a real SIGKILL of a real process that writes to a SQLite journal; effects are lines in a file outside.
Needs a system with fork (not Windows).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle import Agent, ScriptedModel, Tool, ToolContext, tool
from treadle._engine.result import RunResult
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import RunNotFoundError
from treadle._types.events import Record
from treadle._types.messages import ToolMessage
from treadle._types.request import Request

STEPS = 12
KINDS = ("pure", "idempotent", "unsafe")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingJournal(SqliteJournal):
    """A journal that kills its process right after the n-th append was stored."""

    def __init__(self, path: Path, after: int) -> None:
        super().__init__(path)
        self.left = after

    async def append(self, records: Sequence[Record]) -> None:
        await super().append(records)
        self.left -= 1
        if self.left == 0:
            die()


def script(request: Request) -> Any:
    """What the model says depends on nothing but how many results it has seen."""
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    if len(results) == STEPS:
        return "answer: " + ",".join(str(result.content)[:6] for result in results)
    return {"name": KINDS[len(results) % 3], "args": {"n": len(results)}, "id": f"c{len(results)}"}


def tools(effects: Path, kill_in: tuple[int, str] | None, kinds: Sequence[str]) -> list[Tool]:
    def make(kind: str) -> Tool:
        async def work(n: int, context: ToolContext) -> str:
            if kill_in == (n, "before"):
                die()
            with effects.open("a") as file:
                file.write(json.dumps([kind, n, context.idempotency_key]) + "\n")
            if kill_in == (n, "after"):
                die()
            return f"{kind[:3]}{n}"

        return tool(work, name=kind, description=kind, effect=kinds[KINDS.index(kind)])  # pyright: ignore[reportArgumentType]

    return [make(kind) for kind in KINDS]


def work(folder: Path, *, kinds: Sequence[str], after: int = 0, kill_in: tuple[int, str] | None = None) -> RunResult:
    """Start the run, or go on with it if it is in the journal."""

    async def main() -> RunResult:
        journal = DyingJournal(folder / "journal.db", after)
        agent = Agent(
            ScriptedModel(script), tools(folder / "effects", kill_in, kinds), journal=journal, max_iterations=40
        )
        try:
            try:
                return await agent.resume("run")
            except RunNotFoundError:
                return await agent.run("go", run_id="run")
        finally:
            await journal.aclose()

    return asyncio.run(main())


def in_a_process_of_its_own(folder: Path, **how: Any) -> bool:
    """Do the work in a forked process; False if it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work(folder, **how)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return not os.WIFSIGNALED(status)


def matrix(kinds: Sequence[str] = KINDS) -> dict[str, int]:
    """`kinds` are the effects the three tools declare: all idempotent in one half, as named in the other."""
    with tempfile.TemporaryDirectory() as name:
        whole = work(Path(name), kinds=kinds)
    assert whole.stop_reason == "answer", whole
    kills = lost = doubled = unknown = 0
    ways: list[dict[str, Any]] = [{"kill_in": (n, when)} for n in range(STEPS) for when in ("before", "after")]
    after = 1
    while True:
        how = ways.pop(0) if ways else {"after": after}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if in_a_process_of_its_own(folder, kinds=kinds, **how):
                break  # it came to its end: no boundary is left
            kills += 1
            after += "after" in how
            result = work(folder, kinds=kinds)
            effects = [json.loads(line) for line in (folder / "effects").read_text().splitlines()]
            if "unsafe" in kinds:
                unknown += sum(step.error == "unknown_outcome" for step in result.steps)
                lost += result.stop_reason != "answer" or len(result.steps) != STEPS
            else:
                lost += result.answer != whole.answer or [s.observation for s in result.steps] != [
                    s.observation for s in whole.steps
                ]
            unsafe = {kind for kind, effect in zip(KINDS, kinds, strict=True) if effect == "unsafe"}
            doubled += sum(count - 1 for (kind, *_), count in Counter(map(tuple, effects)).items() if kind in unsafe)
    return {"kills": kills, "lost": lost, "doubled": doubled, "told_unknown": unknown}


def main() -> int:
    bad = 0
    print("| tools | kills tried | runs lost | unsafe effects doubled | calls reported as unknown |")
    print("|---|---|---|---|---|")
    for label, kinds in (
        ("pure, idempotent, unsafe", KINDS),
        ("all safe to repeat", ("pure", "idempotent", "idempotent")),
    ):
        found = matrix(kinds)
        print(f"| {label} | {found['kills']} | {found['lost']} | {found['doubled']} | {found['told_unknown']} |")
        bad += found["lost"] + found["doubled"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
