"""How often `find_causes` names the cause of a run first: at least 60 runs that are spoilt in a known way, generated.

python3 tasks.py measure spoilt [SEED] [--read local:qwen2.5-coder-1.5b]

Ten kinds of cause, each in a run that is short, long (60 steps), long with tools of which nobody knows what they do,
recorded from two other programs (messages as OpenAI and as Anthropic write them), with an agent inside, and a plan;
and a line of what the planner, the judge and the component that chooses a document's way are told.
Half of them have a fixed seed, half one that is drawn when this is run. The models are rules. `--read` measures what a
model names instead that is given the log of each run and asked for the cause.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from why.reading import read

from treadle import (
    Agent,
    Budget,
    BudgetExhaustedError,
    DagAgent,
    Model,
    Plugin,
    RunContext,
    ScriptedModel,
    Tool,
    find_causes,
    tool,
)
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._inspect.why.changes import Change
from treadle._journal.memory import MemoryJournal
from treadle._models.catalog.registry import resolve_model
from treadle._record.imports.files import import_file
from treadle._types.events import MessageAdded
from treadle._types.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.request import Request

KINDS = ("prompt", "description", "parameter", "result", "note", "history", "temperature", "trim", "limit", "budget")
FORMS = ("short", "long", "effects", "openai", "anthropic", "children", "plan", "document")
OF_FLOWS = {"plan": ("planner", "judge"), "document": ("route",)}
OF_TEXTS = ("prompt", "result", "history")
"""Kinds that there are in a run that another program made: its settings are not known, nor are its tools here."""
ACTED: list[int] = []


class Spoilt(Struct, frozen=True):
    kind: str
    form: str
    seed: int
    steps: int
    bad: str
    """The sentence that spoils it."""
    right: str
    wrong: str

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.form}"

    def is_cause(self, change: Change) -> bool:
        match self.kind:
            case "temperature":
                return (change.kind, change.name) == ("setting", "temperature")
            case "trim":
                return change.name in ("max_history_messages", "history_trim")
            case "limit" | "budget":
                return change.name in ("max_iterations", "budget")
            case "result" | "note" | "history":
                return change.kind in ("passage", "guard", "result") and (
                    self.bad in change.before or change.kind == "guard"
                )
            case _:
                return change.kind in ("prompt", "description") and self.bad in change.before and not change.after


def spoilt(kind: str, form: str, seed: int) -> Spoilt:
    chance = random.Random(f"{kind} {form} {seed}")
    steps = {"short": 4, "children": 4, "plan": 4, "openai": 6, "anthropic": 6}.get(form, 60)
    right, wrong = (str(number) for number in chance.sample(range(1000, 9999), 2))
    word = "".join(chance.choices("bdfgklmnprst", k=3) + chance.choices("aeiou", k=2))
    return Spoilt(kind, form, seed, steps, f"By order of {word} the total is {wrong}.", right, wrong)


def rule(case: Spoilt) -> Callable[[Request], Any]:
    """Reads page after page, and then says the total; what spoils the run changes what it says."""

    def reply(request: Request) -> Any:
        seen = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
        at = max((int(n) for text in seen for n in re.findall(r"Page (\d+)", text)), default=-1) + 1
        if at < case.steps - 1:
            return {"name": "page", "args": {"number": at}}
        said = "\n".join(
            m.text if isinstance(m, SystemMessage | AssistantMessage) else text_of(m.content) for m in request.messages
        )
        if case.bad in said or case.bad in str(msgspec.to_builtins(request.tools)):
            return f"The total is {case.wrong}."
        if case.kind == "temperature" and request.temperature != 0:
            return f"The total is {case.wrong}."
        return f"The total is {case.right}." if f"sum {case.right}" in said else "The total is not known."

    return reply


def page_tool(case: Spoilt) -> Tool:
    chance = random.Random(case.bad)
    good, bad = chance.randrange(case.steps // 2), chance.randrange(case.steps - 1)
    if case.kind in ("limit", "budget"):  # it ends before it has seen it
        good = case.steps - 2

    def page(number: int) -> str:
        ACTED.append(number)
        lines = [f"Page {number}.", *(f"Row {row}: {chance.randrange(100)} crates." for row in range(5))]
        if number == good:
            lines.append(f"The sum {case.right} stands here.")
        if number == bad and case.kind == "result":
            lines.insert(2, case.bad)
        return "\n".join(lines)

    about = "Read a page of the ledger." + (f"\n{case.bad}" if case.kind == "description" else "")
    made = tool(page, description=about, effect="unsafe" if case.form == "effects" else "pure")
    if case.kind == "parameter":
        made = made.replace(parameters={**made.parameters, "properties": {"number": {
            "type": "integer", "description": f"Which page.\n{case.bad}"}}})  # fmt: skip
    return made


def planned(case: Spoilt, steps: list[dict[str, Any]]) -> Callable[[Request], Any]:
    """The same model with a plan of two steps, of which one finds the total; it is content with what comes of them."""
    reply = rule(case)

    def made(request: Request) -> Any:
        text = str(request.messages)
        told = case.kind in OF_FLOWS["plan"] and case.bad in text
        if request.component == "planner":
            return {"name": "make_plan", "args": {"steps": steps[1:] if told else steps}}
        if request.component == "analyzer":
            total = re.search(r"The total is [^.]*\.", text.replace(case.bad, ""))
            said = f"The total is {case.wrong}." if told else total and total[0]
            args = {
                "achieved": True,
                "confidence": 1.0,
                "reasoning": "It is read.",
                "final_answer": said or "No total.",
            }
            return {"name": "judge", "args": args}
        return "Thanks." if "Say thanks" in text else reply(request)

    return made


def document(case: Spoilt, journal: Any) -> GraphAgent:
    """Two ways, of which one guesses; what is said of it spoils the choice."""

    def reply(request: Request) -> Any:
        said = str(request.messages)
        if "categories" in said:
            return "guess" if case.bad in said else "ledger"
        return f"The total is {case.wrong if 'Guess it.' in said else case.right}."

    def one(kind: str, params: dict[str, Any], *after: str) -> dict[str, Any]:
        return {"obj": {"component_name": kind, "params": params}, "downstream": list(after)}

    kinds = {
        "ledger": {"description": "It asks for a number.", "to": ["Agent:Ledger"]},
        "guess": {"description": f"It is a game.\n{case.bad}\nIt has no end.", "to": ["Agent:Guess"]},
    }
    components = {
        "begin": one("Begin", {}, "Categorize:Kind"),
        "Categorize:Kind": one("Categorize", {"category_description": kinds}),
        "Agent:Ledger": one("Agent", {"sys_prompt": "Look it up."}, "Message:M"),
        "Agent:Guess": one("Agent", {"sys_prompt": "Guess it."}, "Message:M"),
        "Message:M": one("Message", {"content": ["{{Agent:Ledger@content}}{{Agent:Guess@content}}"]}),
    }
    return GraphAgent(parse_document({"components": components}), Path(), model=ScriptedModel(reply), journal=journal)


class Remembering(Plugin):
    """Adds what is remembered, before the first step."""

    name = "remembering"

    def __init__(self, text: str) -> None:
        self.text = text

    async def on_start(self, run: RunContext) -> None:
        await run.emit(
            MessageAdded(UserMessage(f"Ann likes tea.\n{self.text}\nThe office is closed.", kind="note"), self.name)
        )


def agent_for(case: Spoilt, journal: Any) -> Agent[Any, Any]:
    lines = ["You are a clerk.", "Be polite.", "Read every page.", "Answer briefly."]
    if case.kind == "prompt":
        lines.insert(2, case.bad)
    settings: dict[str, Any] = {"max_iterations": case.steps + 5}
    match case.kind:
        case "note":
            settings["plugins"] = [Remembering(case.bad)]
        case "temperature":
            settings["temperature"] = 0.7
        case "trim":
            settings["max_history_messages"] = 3
        case "limit":
            settings["max_iterations"] = max(2, case.steps - 3)
        case "budget":
            settings["budget"] = Budget(requests=max(2, case.steps - 3))
        case "planner" | "judge":
            name = {"planner": "dag_planner", "judge": "dag_analyzer"}[case.kind]
            settings["prompts"] = {name: f"You are an advisor.\nBe kind.\n{case.bad}\nBe brief."}
        case "route":
            return document(case, journal)
        case _:
            pass
    worker = Agent(
        ScriptedModel(rule(case)), [page_tool(case)], system="\n".join(lines), journal=journal, name="clerk",
        description="Knows the ledger.", on_error="result", **settings,
    )  # fmt: skip
    if case.form == "plan":
        steps = [{"id": "total", "task": "Find the total."}, {"id": "kind", "task": "Say thanks."}]
        return DagAgent(ScriptedModel(planned(case, steps)), [page_tool(case)], system="\n".join(lines),
                        journal=journal, on_error="result", **settings)  # fmt: skip
    if case.form != "children":
        return worker

    def boss(request: Request) -> Any:
        got = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
        order = {"user_prompt": "What is the total?", "reasoning": "It knows.", "context": "None."}
        return f"The clerk says: {got[-1]}" if got else {"name": "clerk", "args": order}

    return Agent(
        ScriptedModel(boss, name="boss"), [worker], system="Ask the clerk.", journal=journal, on_error="result"
    )


async def recorded(case: Spoilt, journal: MemoryJournal) -> tuple[Agent[Any, Any], str]:
    """The spoilt run, and the agent that it is searched with."""
    agent = agent_for(case, journal)
    history = [UserMessage("Hello."), AssistantMessage(f"Good day. {case.bad}")] if case.kind == "history" else []
    run = agent.start("What is the total?", history=history)
    with suppress(BudgetExhaustedError):
        await run
    if case.form not in ("openai", "anthropic"):
        return agent, run.id
    written = as_openai(run) if case.form == "openai" else as_anthropic(run)
    imported = await import_file(journal, json.dumps(written).encode(), f"{case.form}.json")
    return Agent(ScriptedModel(rule(case)), None, journal=journal), imported.runs[-1]


def as_openai(run: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": run.state.started.system}]
    for message in run.state.messages():
        if isinstance(message, AssistantMessage):
            calls = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.args)}}
                for c in message.calls
            ]
            messages.append({"role": "assistant", "content": message.text} | ({"tool_calls": calls} if calls else {}))
        elif isinstance(message, ToolMessage):
            messages.append({"role": "tool", "tool_call_id": message.call_id, "content": text_of(message.content)})
        else:
            messages.append({"role": "user", "content": text_of(message.content)})
    functions = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in run.state.tools]
    return {
        "model": "scripted",
        "messages": messages,
        "tools": [{"type": "function", "function": f} for f in functions],
    }


def as_anthropic(run: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for message in run.state.messages():
        if isinstance(message, AssistantMessage):
            blocks = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.args} for c in message.calls]
            text = [{"type": "text", "text": message.text}] if message.text else []
            messages.append({"role": "assistant", "content": [*text, *blocks]})
        elif isinstance(message, ToolMessage):
            block = {"type": "tool_result", "tool_use_id": message.call_id, "content": text_of(message.content)}
            messages.append({"role": "user", "content": [block]})
        else:
            messages.append({"role": "user", "content": text_of(message.content)})
    tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in run.state.tools]
    return {"model": "scripted", "system": run.state.started.system, "messages": messages, "tools": tools}


def cases(drawn: int) -> list[Spoilt]:
    made: list[Spoilt] = []
    for form in FORMS:
        kinds = OF_TEXTS if form in ("openai", "anthropic") else KINDS
        if form == "children":
            kinds = tuple(kind for kind in KINDS if kind != "history")
        if form == "plan":  # it hands its history to each step, and is given its limits itself
            kinds = tuple(kind for kind in KINDS if kind not in ("history", "limit", "budget")) + OF_FLOWS["plan"]
        kinds = OF_FLOWS["document"] if form == "document" else kinds
        repeats = 2 if form in ("openai", "anthropic", "short", "long", "document") else 1
        for kind in kinds:
            made += [spoilt(kind, form, 7 if index % 2 == 0 else drawn) for index in range(repeats)]
    return made


async def searched(case: Spoilt) -> tuple[int, int, int, int]:
    """The rank of the true cause (0: not named), requests, tokens, and whether a wrong cause came first."""
    journal = MemoryJournal()
    agent, run = await recorded(case, journal)
    ACTED.clear()
    # What nobody has recorded, somebody has to give: here the user does.
    stubs = {"page": page_tool(case).execute} if case.form == "effects" and case.kind in ("limit", "budget") else None
    found = await find_causes(agent, run, answer=case.right, stubs=stubs)
    if case.form == "effects" and ACTED and stubs is None:
        raise AssertionError(f"{case.name}: a tool that may act has run")
    rank = next((at for at, change in enumerate(found.places, 1) if case.is_cause(change)), 0)
    false = bool(found.causes) and not case.is_cause(found.causes[0].change)
    if false and "-v" in sys.argv:
        print("   ", found.problem, [str(change)[:110] for change in found.places])
    return rank, found.requests, found.tokens, false


async def reading(case: Spoilt, model: Model, most: int) -> dict[str, Any]:
    """What a model says that is simply given the log."""
    journal = MemoryJournal()
    _, run = await recorded(case, journal)
    inside = [one.run_id for one in await journal.list(parent=run)]
    records = [record for one in (*inside, run) for record in await journal.load(one)]
    names = {"temperature": "temperature", "trim": "max_history", "limit": "max_iterations", "budget": "budget"}
    by = (names.get(case.kind, "By order of"),)
    return {"case": case.name, "seed": case.seed, **await read(model, records, case.right, by, most)}


async def asked(args: argparse.Namespace) -> int:
    model = resolve_model(args.read)
    rows: list[dict[str, Any]] = []
    for case in cases(args.seed):
        rows.append(await reading(case, model, args.chars))
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    print(f"named by {args.read}, which reads the log: {sum(row['read'] for row in rows)} of {len(rows)}")
    return 0


async def main(seed: int) -> int:
    began, results = time.process_time(), dict[Spoilt, tuple[int, int, int, int]]()
    for case in cases(seed):
        results[case] = rank, requests, tokens, false = await searched(case)
        wrong_first = "  WRONG FIRST" if false else ""
        print(f"{case.name:28} rank {rank or '-'}  {requests:4} requests {tokens:8,} tokens{wrong_first}")
    first = sum(rank == 1 for rank, *_ in results.values())
    spent = sorted(requests for _, requests, *_ in results.values())
    wrong = sum(false for *_, false in results.values())
    print(
        f"\nseed {seed}: {len(results)} spoilt runs, cause first in {first} ({first / len(results):.0%}), "
        f"wrong cause first in {wrong}; requests: {statistics.median(spent)} in the middle, at most {spent[-1]}; "
        f"{time.process_time() - began:.0f} s of CPU"
    )
    return 0 if first >= 0.8 * len(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", nargs="?", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--read", default="", metavar="MODEL", help="measure what this model names that reads the logs")
    parser.add_argument("--chars", type=int, default=6000, help="how much of a log it gets")
    parser.add_argument("-v", action="store_true", help="what was named in place of the cause")
    arguments = parser.parse_args()
    sys.exit(asyncio.run(asked(arguments) if arguments.read else main(arguments.seed)))
