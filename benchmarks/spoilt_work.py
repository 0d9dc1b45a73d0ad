"""How often `find_causes` names the cause first of a run that went wrong in a workspace: 20 runs, spoilt on purpose.

    python3 tasks.py measure spoilt_work [SEED] [agents file cut note]

A misleading line of AGENTS.md, the wrong file shown, an output that was cut, a stale note: each leads a model that is a
rule to the wrong edit, so that the tests fail. In the experiments other edits are made and tests run, in overlays over
the files that the run had at that step; what a call of an experiment does outside of them is counted, and must be none.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from spoilt import Remembering

from treadle import Agent, Plugin, ScriptedModel, Workspace, find_causes, open_journal
from treadle._inspect.why.changes import Change
from treadle._types.messages import SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.request import Request

KINDS = ("agents", "file", "cut", "note")
_TEST = "sh test.sh"
_CHARS = 1_500


class Work(Struct, frozen=True):
    kind: str
    seed: int
    right: str
    wrong: str
    bad: str
    """The line that spoils it."""

    def is_cause(self, change: Change) -> bool:
        if self.kind == "cut":
            return change.name == "max_observation_chars"
        return change.kind in ("prompt", "passage", "result", "guard") and (
            self.bad in change.before or (change.kind == "guard" and change.name == Remembering.name)
        )


def work(kind: str, seed: int) -> Work:
    chance = random.Random(f"{kind} {seed}")
    right, wrong = (str(number) for number in chance.sample(range(100, 999), 2))
    by = "".join(chance.choices("bdfgklmnprst", k=4))
    bad = {
        "agents": f"Rates of {by} are always {wrong}.",
        "file": f"RATE_OF_{by.upper()} = {wrong}",
        "cut": "",
        "note": f"Since spring the rate is {wrong}, said {by}.",
    }[kind]
    return Work(kind, seed, right, wrong, bad)


def project(case: Work, folder: Path) -> None:
    chance = random.Random(case.seed)
    said = [f"Ledger line {number}: {chance.randrange(1000)} crates." for number in range(300)]
    said.insert(150, f"The contract says: the rate is {case.right}.")
    files = {
        "AGENTS.md": "\n".join(["Keep it short.", *([case.bad] if case.kind == "agents" else []), "Run test.sh."]),
        "contract.txt": "\n".join(said if case.kind == "cut" else said[148:154]),
        "old/contract.txt": f"Of last year.\n{case.bad}\n",
        "rates.py": "RATE = 1\n",
        "test.sh": f"if grep -qx 'RATE = {case.right}' rates.py\nthen echo the test passes\nelse echo it fails\nfi\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def rule(case: Work) -> Callable[[Request], Any]:
    """Reads, edits and tests; believes the misleading line before the contract, and the contract before a guess."""

    def reply(request: Request) -> Any:
        results = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
        notes = [m.text if isinstance(m, SystemMessage) else text_of(m.content) for m in request.messages
                 if isinstance(m, SystemMessage | UserMessage)]  # fmt: skip
        shown = "old/contract.txt" if case.kind == "file" else "contract.txt"
        steps: list[tuple[str, dict[str, Any]]] = [
            ("read", {"path": "AGENTS.md"}), ("bash", {"command": f"cat {shown}"}), ("bash", {"command": _TEST}),
        ]  # fmt: skip
        if len(results) < len(steps):
            name, args = steps[len(results)]
            return {"name": name, "args": args}
        said = "\n".join([*notes, *results])
        # What a result was replaced by in an experiment counts, as what a model reads would.
        rate = case.wrong if case.bad and case.bad in said else ""
        if not rate and (stands := re.search(r"the rate is (\d+)", said)):
            rate = stands[1]
        if case.kind == "file" and not rate and len(results) == len(steps):
            return {"name": "bash", "args": {"command": "cat contract.txt"}}
        edits = [text for text in results if "+RATE" in text]
        if not edits:
            return {"name": "edit", "args": {"path": "rates.py", "old": "RATE = 1", "new": f"RATE = {rate or 2}"}}
        if "+RATE" in results[-1]:
            return {"name": "bash", "args": {"command": _TEST}}
        return "Done: the test passes." if "the test passes" in results[-1] else "I could not do it."

    return reply


async def searched(case: Work, place: Path) -> tuple[int, int, bool]:
    """The rank of the true cause (0: not named), requests, and whether a wrong one came first."""
    folder = place / "project"
    project(case, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    note: list[Plugin] = [Remembering(case.bad)] if case.kind == "note" else []
    agent = Agent(
        ScriptedModel(rule(case)), preset="coding", workspace=Workspace(folder, backend="sandbox"), plugins=note,
        system="You are a careful programmer.", journal=open_journal(place / "runs.db"), on_error="result",
        max_iterations=15, max_observation_chars=_CHARS,
    )  # fmt: skip
    result = await agent.run("Set the rate of the contract in rates.py, so that test.sh passes.")
    if "Done" in result.answer:
        raise AssertionError(f"{case.kind} {case.seed}: the run was not spoilt")
    found = await find_causes(agent, result.run_id, answer="Done: the test passes.")
    if {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} != before:
        raise AssertionError(f"{case.kind} {case.seed}: an experiment has changed the person's folder")
    rank = next((at for at, change in enumerate(found.places, 1) if case.is_cause(change)), 0)
    false = bool(found.causes) and not case.is_cause(found.causes[0].change)
    if rank != 1 and "-v" in sys.argv:
        print("   ", found.problem, [str(change)[:110] for change in found.places])
        print(str(found)[:1500])
    return rank, found.requests, false


async def main(seed: int, kinds: Sequence[str] = KINDS) -> int:
    began, ranks, spent, wrong = time.monotonic(), list[int](), list[int](), 0
    for kind in kinds:
        for number in range(5):
            case = work(kind, number if number < 2 else seed + number)
            with tempfile.TemporaryDirectory(prefix="treadle-spoilt-") as place:
                rank, requests, false = await searched(case, Path(place))
            ranks.append(rank)
            spent.append(requests)
            wrong += false
            print(f"{kind:8} {case.seed:<8} rank {rank or '-'}  {requests:4} requests", flush=True)
    first = sum(rank == 1 for rank in ranks)
    print(
        f"\nseed {seed}: {len(ranks)} runs spoilt in a workspace, cause first in {first}, "
        f"wrong cause first in {wrong}; "
        f"requests: {sorted(spent)[len(spent) // 2]} in the middle, at most {max(spent)}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 0 if first >= 0.8 * len(ranks) else 1


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    chosen = [one for one in sys.argv[1:] if one in KINDS]
    seed = numbers[0] if numbers else random.SystemRandom().randrange(10**6)
    sys.exit(asyncio.run(main(seed, chosen or KINDS)))
