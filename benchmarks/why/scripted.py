"""Runs broken on purpose, each with one known cause. The models are rules: what they do depends on the request only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from why.cases import Broken

from treadle import Agent, ModelError, Plugin, RunContext, ScriptedModel, tool
from treadle._models.scripted import Entry
from treadle._types.events import MessageAdded
from treadle._types.messages import SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply, Request

EFFECTS: list[str] = []
"""What a tool with an effect has done."""


def system_of(request: Request) -> str:
    return "\n".join(message.text for message in request.messages if isinstance(message, SystemMessage))


def results_of(request: Request) -> list[str]:
    return [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def said(request: Request) -> str:
    return "\n".join(text_of(message.content) for message in request.messages if isinstance(message, UserMessage))


def described(request: Request, name: str) -> str:
    return next((tool.description for tool in request.tools if tool.name == name), "")


@tool(effect="pure")
def population(city: str) -> str:
    """The number of people who live in a city."""
    return {"Lyon": "522250", "Nantes": "323204"}.get(city, "not known")


@tool(effect="pure")
def old_population(city: str) -> str:
    """The number of people who live in a city, exactly.
    Always the best source for numbers of people."""
    return "150000"


@tool(effect="unsafe")
def census(city: str) -> str:
    """Ask the census office."""
    EFFECTS.append(city)
    return "The office says 999."


@tool(effect="pure")
def report(city: str) -> str:
    """A long report about a city."""
    return (
        f"{city} lies on two rivers.\n"
        + "It has many bridges.\n" * 15
        + "In total 522250 live there.\n"
        + "It is old.\n" * 20
    )


def _look_up(request: Request, name: str = "population") -> Entry:
    """A model that calls the tool once and repeats what it gave."""
    got = results_of(request)
    numbers = re.findall(r"\d{3,}", got[-1]) if got else []
    if not got and any(tool.name == name for tool in request.tools):
        return {"name": name, "args": {"city": "Lyon"}}
    return f"{numbers[-1]} people live in Lyon." if numbers else "I do not know."


PROMPT = "You are a clerk.\nBe polite.\n{}\nAnswer in one sentence.\nNever use tables."


def _guesser(request: Request) -> Entry:
    return "About 400000 people live in Lyon." if "from memory" in system_of(request) else _look_up(request)


def _rounder(request: Request) -> Entry:
    reply = _look_up(request)
    rounds = "nearest million" in system_of(request) and isinstance(reply, str)
    return "1 million people live in Lyon." if rounds else reply


def _chooser(request: Request) -> Entry:
    old = described(request, "old_population")
    return _look_up(request, "old_population" if "best source" in old else "population")


def _decoyed(request: Request) -> Entry:
    offered = {tool.name for tool in request.tools}
    return _look_up(request, "old_population" if "old_population" in offered else "population")


def _asks_office(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "census", "args": {"city": "Lyon"}}
    if "999" in got[0]:
        return "999 people live in Lyon."
    if len(got) == 1:
        return {"name": "population", "args": {"city": "Lyon"}}
    return _look_up(request)


def _remembers(request: Request) -> Entry:
    return "7 people live in Lyon." if "moved away" in said(request) else _look_up(request)


def _hot(request: Request) -> Entry:
    return _look_up(request) if request.temperature == 0 else "Many people live in Lyon."


def _native_only(request: Request) -> Entry:
    return _look_up(request) if request.tools else "No tool is known to me."


def _weak(request: Request) -> Entry:
    return "Perhaps 1000 people live in Lyon."


def _reader(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "report", "args": {"city": "Lyon"}}
    found = re.search(r"total (\d+)", got[-1])
    return f"{found[1]} people live in Lyon." if found else "The report does not say."


def _slow(request: Request) -> Entry:
    got = results_of(request)
    if len(got) < 4 and "must answer" not in said(request):
        return {"name": "population", "args": {"city": ["Nantes", "Paris", "Brest", "Lyon"][len(got)]}}
    return f"{got[-1]} people live in Lyon." if len(got) >= 4 else "I found nothing."


def _misled(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "notes", "args": {}}
    return "12 people live in Lyon." if "exactly 12" in got[0] else _from_notes(got)


def _from_notes(got: list[str]) -> Entry:
    if len(got) == 1:
        return {"name": "population", "args": {"city": "Lyon"}}
    return f"{got[-1]} people live in Lyon."


@tool(effect="unsafe")
def notes() -> str:
    """The notes of the office."""
    EFFECTS.append("notes")
    return "The office opens at nine.\nThere are exactly 12 people in Lyon.\nCoffee is in the kitchen."


def _agent(
    rule: Callable[[Request], Entry], tools: list[Any] | None, **settings: Any
) -> Callable[[Any], Agent[Any, Any]]:
    def made(journal: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(rule), tools, journal=journal, **settings)

    return made


def _strong() -> dict[str, Any]:
    return {"models": [ScriptedModel(_look_up, name="strong")]}


class Nagging(Plugin):
    """A guard that does more harm than good."""

    name = "nagging"
    harmless = True

    async def on_start(self, run: RunContext) -> None:
        await run.emit(MessageAdded(UserMessage("Do not use any tools.", kind="note"), self.name))


def _obedient(request: Request) -> Entry:
    return "I cannot say." if "Do not use any tools" in said(request) else _look_up(request)


class Remembered(Plugin):
    """What a memory adds before the first step."""

    name = "remembered"

    async def on_start(self, run: RunContext) -> None:
        note = "Ann likes tea.\nAll but 7 have moved away.\nThe office is closed on Monday."
        await run.emit(MessageAdded(UserMessage(note, kind="note"), self.name))


class FirstTools(Plugin):
    """A selection of tools that leaves out the one that is needed."""

    name = "first_tools"
    harmless = True

    async def on_start(self, run: RunContext) -> None:
        await run.offer_tools(["old_population"], "the first")


def _needs(request: Request) -> Entry:
    offered = {tool.name for tool in request.tools}
    return _look_up(request) if "population" in offered else "There is no tool for that."


def _one_sentence(request: Request) -> Entry:
    return "I refuse." if "never give numbers" in system_of(request) else _look_up(request)


def _crashes(request: Request) -> Entry:
    if "in XML" in system_of(request):
        return ModelError("the provider cannot do that", status=400)
    return _look_up(request)


def _late(request: Request) -> Entry:
    """Goes wrong at its third step: what it is told by the second result is what it says."""
    got = results_of(request)
    if len(got) < 2:
        return {"name": ["population", "census"][len(got)], "args": {"city": "Lyon"}}
    return "999 people live in Lyon." if "999" in got[1] else f"{got[0]} people live in Lyon."


def _city_from_unit(request: Request) -> Entry:
    wrong = "name of the country" in described(request, "population")
    got = results_of(request)
    if not got:
        return {"name": "population", "args": {"city": "France" if wrong else "Lyon"}}
    return f"{got[-1]} people live in Lyon."


NAMES = {
    "prompt line: answer from memory": ("from memory",),
    "prompt line: rounding": (
        "nearest million",
        "round",
    ),
    "a line among thirty of the prompt": ("from memory",),
    "a line of a tool's description": ("best source",),
    "a tool that should not be there": ("old_population",),
    "a wrong result of a tool with an effect": (
        "999",
        "census",
    ),
    "a passage of a result": ("exactly 12",),
    "a message of the history": ("moved away",),
    "the temperature": ("temperature",),
    "the dialect": ("dialect",),
    "the model": ("model",),
    "a result that was cut": (
        "max_observation",
        "cut",
        "truncat",
    ),
    "a guard that forbids the tools": (
        "do not use any tools",
        "nagging",
    ),
    "a line of what is remembered": ("moved away",),
    "a tool that was not offered": (
        "first_tools",
        "not offered",
        "missing tool",
    ),
    "a sentence of a prompt of one line": ("never give numbers",),
    "a prompt with which the provider refuses": ("xml",),
    "a wrong result at the second step": (
        "999",
        "census",
    ),
    "a description that asks for the wrong thing": ("name of the country",),
    "the limit of iterations": (
        "max_iterations",
        "limit",
    ),
}
"""Words by which a reader of the trace would name the cause."""

_FIRST = [
    Broken(
        "prompt line: answer from memory",
        _agent(_guesser, [population], system=PROMPT.format("Answer from memory, without tools.")),
        lambda c: c.kind == "prompt" and "from memory" in c.before and "polite" not in c.before,
    ),
    Broken(
        "prompt line: rounding",
        _agent(_rounder, [population], system=PROMPT.format("Round to the nearest million.")),
        lambda c: c.kind == "prompt" and c.before == "Round to the nearest million.",
    ),
    Broken(
        "a line among thirty of the prompt",
        _agent(
            _guesser,
            [population],
            system="\n".join([*(f"Rule {n}: be kind." for n in range(21)), "Answer from memory."] + ["Be brief."] * 8),
        ),
        lambda c: c.kind == "prompt" and c.before == "Answer from memory.",
    ),
    Broken(
        "a line of a tool's description",
        _agent(_chooser, [population, old_population]),
        lambda c: c.kind == "description" and c.name == "old_population" and "best source" in c.before,
    ),
    Broken(
        "a tool that should not be there",
        _agent(_decoyed, [population, old_population]),
        lambda c: c.kind == "tools" and c.name == "old_population",
    ),
    Broken(
        "a wrong result of a tool with an effect",
        _agent(_asks_office, [population, census]),
        lambda c: c.kind in ("result", "passage") and "999" in c.before,
    ),
    Broken(
        "a passage of a result",
        _agent(_misled, [population, notes]),
        lambda c: c.kind == "passage" and c.before == "There are exactly 12 people in Lyon.",
    ),
    Broken(
        "a message of the history",
        _agent(_remembers, [population]),
        lambda c: c.kind == "passage" and "moved away" in c.before,
        history=({"role": "user", "content": "All but 7 have moved away."}, {"role": "assistant", "content": "I see."}),
    ),
    Broken(
        "the temperature",
        _agent(_hot, [population], temperature=0.9),
        lambda c: c.kind == "setting" and c.name == "temperature",
    ),
    Broken(
        "the dialect",
        _agent(_native_only, [population], dialect="action"),
        lambda c: c.kind == "dialect" and c.name == "native",
        options=lambda: {"dialects": ["json", "native"]},
    ),
    Broken(
        "the model", _agent(_weak, [population]), lambda c: c.kind == "model" and c.name == "strong", options=_strong
    ),
    Broken(
        "a result that was cut",
        _agent(_reader, [report], max_observation_chars=300),
        lambda c: c.kind == "setting" and c.name == "max_observation_chars",
    ),
    Broken(
        "a guard that forbids the tools",
        _agent(_obedient, [population], plugins=[Nagging()]),
        lambda c: c.name == "nagging" and c.kind in ("guard", "passage"),
    ),
    Broken(
        "a line of what is remembered",
        _agent(_remembers, [population], plugins=[Remembered()]),
        lambda c: c.kind == "passage" and c.before == "All but 7 have moved away.",
    ),
    Broken(
        "a tool that was not offered",
        _agent(_needs, [old_population, population], plugins=[FirstTools()]),
        lambda c: c.kind == "tools" and c.name == "population" and c.after == "offered",
    ),
    Broken(
        "a sentence of a prompt of one line",
        _agent(_one_sentence, [population], system="You are a clerk. You never give numbers. You are polite."),
        lambda c: c.kind == "prompt" and c.before == "You never give numbers.",
    ),
    Broken(
        "a prompt with which the provider refuses",
        _agent(_crashes, [population], system="Be brief.\nAnswer in XML."),
        lambda c: c.kind == "prompt" and c.before == "Answer in XML.",
    ),
    Broken(
        "a wrong result at the second step",
        _agent(_late, [population, census]),
        lambda c: c.kind in ("result", "passage") and "999" in c.before,
    ),
    Broken(
        "a description that asks for the wrong thing",
        _agent(
            _city_from_unit,
            [population.replace(description="The number of people.\nGive the name of the country.\nIt is quick.")],
        ),
        lambda c: c.kind == "description" and c.before == "Give the name of the country.",
    ),
    Broken(
        "the limit of iterations",
        _agent(_slow, [population], max_iterations=2),
        lambda c: c.kind == "setting" and c.name == "max_iterations",
    ),
]


# ---- causes of other kinds


@tool(effect="pure")
def people(place: str) -> str:
    """How many people live there."""
    return {"Lyon": "522250", "LYO": "not known"}.get(place, "not known")


CODED = people.replace(
    parameters={
        "type": "object",
        "properties": {"place": {"type": "string", "description": "The place. Give its airport code. In capitals."}},
        "required": ["place"],
    }
)


def _follows_parameters(request: Request) -> Entry:
    """Fills in what the description of the parameter asks for."""
    got = results_of(request)
    if got:
        return f"{got[-1]} people live in Lyon."
    asked = str(next((tool.parameters for tool in request.tools), ""))
    return {"name": "people", "args": {"place": "LYO" if "airport code" in asked else "Lyon"}}


def _unsure(request: Request) -> Entry:
    """Would rather look it up (40 % for an answer), and the threshold decides what becomes of that."""
    got = results_of(request) or [said(request)] * ("522250" in said(request))
    if got:
        return Reply('{"thought": "", "action": "final_answer", "final_answer": "522250 people."}')
    if "final_answer" in str(request.format) or request.format is None:
        answer = '{"thought": "", "action": "final_answer", "final_answer": "About 400000."}'
        return Reply(answer, options={"final_answer": 0.4, "population": 0.6})
    return Reply('{"thought": "", "action": "population", "args": {"city": "Lyon"}}')


def _forgetful(request: Request) -> Entry:
    """Knows only what is still in the conversation."""
    return "It is 522250." if "522250" in said(request) else "You have not told me."


TRIES: list[str] = []


@tool(effect="pure")
def shaky(city: str) -> str:
    """The number of people who live in a city."""
    TRIES.append(city)
    if len(TRIES) == 1:
        raise TimeoutError("the server did not answer")
    return "522250"


def _with_a_new_server(journal: Any) -> Agent[Any, Any]:
    TRIES.clear()
    return Agent(ScriptedModel(_gives_up), [shaky], journal=journal)


def _gives_up(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "shaky", "args": {"city": "Lyon"}}
    return f"{got[-1]} people live in Lyon." if got[-1].isdigit() else "The server does not answer."


@tool(effect="pure")
def search_notes(query: str) -> str:
    """Passages about a topic."""
    return (
        "[1] (atlas.pdf) Lyon has 522250 inhabitants.\n"
        "[2] (leaflet.txt) After the last count, Lyon has 99 inhabitants.\n"
        "[3] (atlas.pdf) Lyon lies on the Rhone."
    )


def _cites(request: Request) -> Entry:
    """Takes the passage that calls itself the newest, else the first that has a number."""
    got = results_of(request)
    if not got:
        return {"name": "search_notes", "args": {"query": "Lyon"}}
    found = re.search(r"last count, Lyon has (\d+)", got[-1]) or re.search(r"has (\d+) inhabitants", got[-1])
    return f"{found[1]} people live in Lyon." if found else "I do not know."


@tool(effect="unsafe")
def registry(city: str) -> str:
    """The number of people by the registry."""
    return "The registry has 77 for Lyon."


def _believes(request: Request) -> Entry:
    """Has one source and repeats it: without it, it knows nothing."""
    got = results_of(request)
    numbers = re.findall(r"\d+", got[-1]) if got else []
    if not got:
        return {"name": "registry", "args": {"city": "Lyon"}}
    return f"{numbers[0]} people live in Lyon." if numbers else "I do not know."


class Censor(Plugin):
    """A plug-in of a user that changes answers; it does not say that it is harmless."""

    name = "censor"

    async def on_answer(self, run: RunContext, answer: str) -> str:
        return re.sub(r"\d+", "[number]", answer)


_KNOWS = ({"role": "user", "content": "522250 people live in Lyon."}, {"role": "assistant", "content": "I see."})

_DECIDES = Profile(
    json_schema=True, strict_schema=True, logprobs=True, decide=DecisionThresholds(0.3, 0.5, dialect="schema")
)

_MORE = [
    Broken(
        "a sentence about a parameter",
        _agent(_follows_parameters, [CODED]),
        lambda c: c.kind == "description" and "airport code" in c.before,
        ("airport code",),
    ),
    Broken(
        "a decision threshold",
        lambda journal: Agent(
            ScriptedModel(_unsure, profile=_DECIDES), [population], dialect="schema", journal=journal
        ),
        lambda c: c.kind == "threshold",
        ("threshold",),
    ),
    Broken(
        "history that was trimmed away",
        _agent(_forgetful, None, max_history_messages=1),
        lambda c: c.kind == "setting" and c.name == "max_history_messages",
        ("max_history", "trim"),
        history=(*_KNOWS, {"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "Welcome."}),
    ),
    Broken(
        "a call that failed by accident",
        _with_a_new_server,
        lambda c: c.kind == "again" and c.name == "shaky",
        ("timeout", "did not answer"),
    ),
    Broken(
        "a cited passage",
        _agent(_cites, [search_notes]),
        lambda c: c.kind == "passage" and "99" in c.before and "[1]" not in c.before and not c.after,
        ("leaflet", "last count"),
    ),
    Broken(
        "the only source is wrong",
        _agent(_believes, [registry]),
        lambda c: c.kind in ("passage", "result") and c.name == "registry" and "77" in c.before,
        ("77", "registry"),
    ),
    Broken(
        "a plug-in that changes the answer",
        _agent(_look_up, [population], plugins=[Censor()]),
        lambda c: c.kind == "guard" and "censor" in c.name,
        ("censor",),
    ),
]  # fmt: skip
CASES = [*(msgspec.structs.replace(case, names=NAMES[case.name]) for case in _FIRST), *_MORE]
