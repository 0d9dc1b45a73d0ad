"""What a change does to recorded runs, checked against an oracle: a scripted model whose replies depend on every byte.

python3 tasks.py measure regress [RUNS] [--into FILE]

With a file, each edit is noted there once it is measured, and what is in it is not measured again.

Runs are recorded, 20 edits of different kinds are made to the agent, and `regress` says which runs are affected. The
oracle makes every run again in full: a run that was called unaffected and goes another way then is a wrong verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from treadle import Agent, Budget, ScriptedModel, Tool, tool
from treadle._inspect.regress.check import regress
from treadle._journal.memory import MemoryJournal
from treadle._plugins.thinking.reflection import Reflection
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.request import Request

SYSTEM = "You are a clerk.\nBe polite.\nLook things up.\nAnswer in one sentence."


def facts(topic: str) -> str:
    """Look a topic up."""
    return f"About {topic}: " + " ".join(f"{topic} {index}" for index in range(len(topic) * 3))


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def plus(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b if a != 3 else a - b)


def book(what: str) -> str:
    """Book something."""
    return f"booked {what}"


def repeat(text: str) -> str:
    """Repeat a text."""
    return text


def tools(**described: str) -> list[Tool]:
    made = [tool(facts, effect="pure"), tool(add, effect="pure"), tool(book, effect="unsafe")]
    return [one.replace(description=described.get(one.name, one.description)) for one in made]


def rule(request: Request) -> Any:
    """Does what the hash of the whole request says: any other byte may make it do anything else."""
    asked = [text_of(m.content) for m in request.messages if isinstance(m, UserMessage)]
    done = sum(isinstance(m, ToolMessage) for m in request.messages)
    whole = msgspec.json.encode((request.messages, request.tools, request.temperature, request.max_tokens, request.seed,
                                 request.tool_choice, request.format))  # fmt: skip
    chance = random.Random(blake2b(whole, digest_size=8).digest())
    if done >= 2 + len(asked[0]) % 9 or not request.tools:
        return f"The answer to {asked[0]} is {chance.randrange(10**6)}."
    offered = [one.name for one in request.tools]
    name = "add" if len(asked[0]) % 2 and chance.random() < 0.7 else chance.choice(offered)
    args: dict[str, Any] = {
        "facts": {"topic": f"t{chance.randrange(50)}"},
        "add": {"a": chance.randrange(9), "b": done},
    }.get(name, {"what": f"seat {done}"})
    return {"name": name, "args": args}


def agent(system: str = SYSTEM, kit: Sequence[Tool] | None = None, journal: Any = None, name: str = "scripted",
          **settings: Any) -> Agent[Any, Any]:  # fmt: skip
    options: dict[str, Any] = {"max_iterations": 20, "on_error": "result"} | settings
    return Agent(ScriptedModel(rule, name=name), list(kit or tools()), system=system, journal=journal, **options)


def edits() -> dict[str, dict[str, Any]]:
    class Other(Reflection):
        name = "other"
        harmless = True

        async def after_round(self, run: Any) -> None:
            return

    return {
        "nothing": {},
        "a comment in the program": {},
        "a line of the prompt": {"system": SYSTEM.replace("Be polite.", "Be brief.")},
        "a blank at the end of the prompt": {"system": f"{SYSTEM} "},
        "a description": {"kit": tools(add="Add two whole numbers.")},
        "a prompt that no run has used": {"prompts": {"reflection": "Say what went wrong."}},
        "a longer window": {"context_budget": 50_000},
        "a tool more": {"kit": [*tools(), tool(repeat, effect="pure")]},
        "a tool less": {"kit": tools()[:2]},
        "the code of a tool": {
            "kit": [tool(plus, name="add", effect="pure") if t.name == "add" else t for t in tools()]
        },
        "temperature": {"temperature": 0.3},
        "a time limit for tools": {"tool_timeout": 7.0},
        "a budget that nobody spends": {"budget": Budget(tokens=10**7)},
        "another model": {"name": "another"},
        "a limit that few reach": {"max_iterations": 9},
        "a limit that nobody reaches": {"max_iterations": 30},
        "results are cut": {"max_observation_chars": 60},
        "results are cut later": {"max_observation_chars": 100_000},
        "a short history": {"max_history_messages": 8},
        "a history that is long enough": {"max_history_messages": 100},
        "a plug-in without effect": {"plugins": [Other()]},
    }


async def again(made: Agent[Any, Any], question: str) -> tuple[str, list[Any]]:
    run = made.start(question)
    await asyncio.wait([run.task])
    return run.state.finished.answer if run.state.finished else "", [(s.tool, s.args) for s in run.state.steps]


async def main(count: int, into: Path | None) -> int:
    journal = MemoryJournal()
    made = random.Random(7)
    questions = [f"q{index}{'x' * made.randrange(20)}" for index in range(count)]
    runs, before = dict[str, str](), dict[str, Any]()
    for question in questions:
        run = agent(journal=journal).start(question)
        await asyncio.wait([run.task])
        runs[run.id] = question
        before[run.id] = (
            run.state.finished.answer if run.state.finished else "",
            [(s.tool, s.args) for s in run.state.steps],
        )
    rows = noted(into, count)
    for name, options in edits().items():
        if name not in rows:
            rows[name] = await measured(name, options, journal, runs, before)
            if into is not None:
                with into.open("ab") as file:
                    file.write(msgspec.json.encode(rows[name]) + b"\n")
        row = rows[name]
        print(
            f"{name:40} {row['unaffected']:5} unaffected, {row['wrong']} wrongly; {row['saved']:4.0%} saved; "
            f"{row['seconds']:5.1f} s; {row['counts']}",
            flush=True,
        )
    wrong, saved = sum(row["wrong"] for row in rows.values()), [row["saved"] for row in rows.values()]
    print(f"\n{len(runs)} runs, {len(rows)} edits: {wrong} wrongly called unaffected;")
    print(f"{statistics.median(saved):.0%} of the calls saved on the median edit;")
    slowest = max(row["seconds"] for row in rows.values())
    idle = max((row["seconds"] for row in rows.values() if row["unaffected"] == count), default=0.0)
    print(f"CPU: {idle:.1f} s where all are unaffected, at most {slowest:.1f} s")
    return 1 if wrong else 0


def noted(file: Path | None, count: int) -> dict[str, Any]:
    lines = file.read_bytes().splitlines() if file is not None and file.exists() else []
    return {row["edit"]: row for row in map(msgspec.json.decode, lines) if row["runs"] == count}


async def measured(
    name: str, options: dict[str, Any], journal: MemoryJournal, runs: dict[str, str], before: dict[str, Any]
) -> dict[str, Any]:
    """What `regress` says of an edit, and how much of that the oracle refutes."""
    began = time.process_time()
    report = await regress(agent(**options), runs, journal=journal)
    seconds = time.process_time() - began
    unaffected = [one.run for one in report.runs if one.verdict == "unaffected"]
    wrong = 0
    for run in unaffected:
        wrong += await again(agent(**options), runs[run]) != before[run]
    return {
        "edit": name, "runs": len(runs), "unaffected": len(unaffected), "wrong": wrong, "saved": report.saved,
        "seconds": seconds, "counts": report.counts(),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=1000)
    parser.add_argument("--into", type=Path, help="note each edit here, and measure only those that are not")
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.runs, arguments.into)))
