"""Kill a run with SIGKILL at every record boundary and in every tool, resume it, and count what was lost or doubled.

    python benchmarks/crash_matrix.py            # prints: kills tried, runs lost, effects doubled

Every kill is a real SIGKILL of a real process that writes to a SQLite journal; effects are lines in another file. Needs
a system with fork (not Windows).
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


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KillingJournal(SqliteJournal):
    """A journal that kills its process right after the n-th append was stored."""

    def __init__(self, path: Path, after: int) -> None:
        super().__init__(path)
        self.remaining = after

    async def append(self, records: Sequence[Record]) -> None:
        await super().append(records)
        self.remaining -= 1
        if self.remaining == 0:
            kill_this_process()


def script(request: Request) -> Any:
    """The replies of the model depend only on the number of results in the conversation."""
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    if len(results) == STEPS:
        return "answer: " + ",".join(str(result.content)[:6] for result in results)
    return {"name": KINDS[len(results) % 3], "args": {"n": len(results)}, "id": f"c{len(results)}"}


def tools(effects: Path, kill_in: tuple[int, str] | None, kinds: Sequence[str]) -> list[Tool]:
    def make(kind: str) -> Tool:
        async def work(n: int, context: ToolContext) -> str:
            if kill_in == (n, "before"):
                kill_this_process()
            with effects.open("a") as file:
                file.write(json.dumps([kind, n, context.idempotency_key]) + "\n")
            if kill_in == (n, "after"):
                kill_this_process()
            return f"{kind[:3]}{n}"

        return tool(work, name=kind, description=kind, effect=kinds[KINDS.index(kind)])  # pyright: ignore[reportArgumentType]

    return [make(kind) for kind in KINDS]


def work(folder: Path, *, kinds: Sequence[str], after: int = 0, kill_in: tuple[int, str] | None = None) -> RunResult:
    """Start the run, or resume it if it is in the journal."""

    async def main() -> RunResult:
        journal = KillingJournal(folder / "journal.db", after)
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


def run_forked(folder: Path, **how: Any) -> bool:
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
        expected = work(Path(name), kinds=kinds)
    assert expected.stop_reason == "answer", expected
    kills = lost = doubled = unknown = 0
    in_tools: list[dict[str, Any]] = [{"kill_in": (n, when)} for n in range(STEPS) for when in ("before", "after")]
    after = 1
    while True:
        how = in_tools.pop(0) if in_tools else {"after": after}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if run_forked(folder, kinds=kinds, **how):
                break  # it was not killed: all instants have been tried
            kills += 1
            after += "after" in how
            result = work(folder, kinds=kinds)
            effects = [json.loads(line) for line in (folder / "effects").read_text().splitlines()]
            if "unsafe" in kinds:
                unknown += sum(step.error == "unknown_outcome" for step in result.steps)
                lost += result.stop_reason != "answer" or len(result.steps) != STEPS
            else:
                observations = [step.observation for step in result.steps]
                expected_observations = [step.observation for step in expected.steps]
                lost += result.answer != expected.answer or observations != expected_observations
            unsafe = {kind for kind, effect in zip(KINDS, kinds, strict=True) if effect == "unsafe"}
            doubled += sum(count - 1 for (kind, *_), count in Counter(map(tuple, effects)).items() if kind in unsafe)
    return {"kills": kills, "lost": lost, "doubled": doubled, "unknown": unknown}


def main() -> int:
    failures = 0
    print("| tools | kills tried | runs lost | unsafe effects doubled | calls reported as unknown |")
    print("|---|---|---|---|---|")
    for label, kinds in (
        ("pure, idempotent, unsafe", KINDS),
        ("all safe to repeat", ("pure", "idempotent", "idempotent")),
    ):
        counts = matrix(kinds)
        print(f"| {label} | {counts['kills']} | {counts['lost']} | {counts['doubled']} | {counts['unknown']} |")
        failures += counts["lost"] + counts["doubled"]
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
