"""Agents like those that wrote the journal of 0.1, with models whose replies depend on the request alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from treadle import Agent, DagAgent, Plugin, ScriptedModel, Tool, tool
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import MessageAdded
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.profile import Profile


@tool(effect="pure")
def look_up(number: int) -> str:
    """Look up a fact.

    Args:
        number: which fact
    """
    return f"Fact {number}: the key is {number * 7}. " + "It has a long story that nobody needs. " * 30


@tool(effect="pure")
def hotel(name: str) -> str:
    """Look up a hotel."""
    return "3 stars, room code CL-15"


@tool(effect="pure")
def price(code: str) -> str:
    """The price of a room.

    Args:
        code: the code of the room, for example CL-99
    """
    return "71.50 EUR a night"


@tool(effect="pure")
def calculate(expression: str) -> str:
    """Work out a sum."""
    return "286"


@tool(effect="pure")
def search(text: str) -> str:
    """Search the archive."""
    return f"nothing about {text}"


@tool(effect="idempotent")
def work(step: str) -> str:
    """Do a step."""
    return f"{step} is done"


def mail_tool(sent: list[str]) -> Tool:
    @tool(approval="ask")
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    return send_mail


class Reminder(Plugin):
    """A plug-in whose `on_start` hook records something."""

    name = "reminder"

    async def on_start(self, run: Any) -> None:
        await run.emit(MessageAdded(UserMessage("Be brief.", kind="note"), self.name))


def results(request: Any) -> list[str]:
    return [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def user_text(request: Any) -> str:
    """What a model without native calls is told: there results are messages of the user."""
    messages = [message for message in request.messages if isinstance(message, UserMessage)]
    return "\n".join(text_of(message.content) for message in messages)


def find_facts(request: Any) -> Any:
    if request.component == "compaction":
        return "The facts so far were looked up; the key of fact n is n * 7."
    numbers = [int(text.split(":")[0].removeprefix("Fact ")) for text in results(request)]
    number = max(numbers, default=0) + 1
    return "The keys are 7, 14, 21 and so on." if number > 8 else {"name": "look_up", "args": {"number": number}}


def write_mail(request: Any) -> Any:
    return (
        "The mail is sent."
        if results(request)
        else {"name": "send_mail", "args": {"to": "ada@example.org", "text": "x"}}
    )


def plan(request: Any) -> Any:
    """Two rounds of two steps; the verdict on the first asks for more."""
    if request.component == "planner":
        ids = "cd" if "Why that was not enough" in str(request.messages) else "ab"
        first, second = ({"id": name, "task": f"do {name}", "dependencies": []} for name in ids)
        return {"name": "make_plan", "args": {"steps": [first, {**second, "dependencies": [ids[0]]}]}}
    if request.component == "analyzer":
        done = "do c" in str(request.messages)
        verdict = {
            "achieved": done,
            "confidence": float(done),
            "final_answer": "all done" * done,
            "reasoning": "c is missing",
        }
        return {"name": "judge", "args": verdict}
    name = next(text_of(m.content)[3] for m in request.messages if isinstance(m, UserMessage))
    return f"result of {name}" if results(request) else {"name": "work", "args": {"step": name}}


def find_price(request: Any) -> str:
    """What a small model should do: look up the hotel, then the price, then work out the sum."""
    seen = user_text(request)
    if "286" in seen:
        reply: dict[str, Any] = {"action": "final_answer", "final_answer": "It costs 286 EUR.", "task_successful": True}
    elif "71.50" in seen:
        reply = {"action": "calculate", "args": {"expression": "4 * 71.50"}}
    elif "CL-15" in seen:
        reply = {"action": "price", "args": {"code": "CL-15"}}
    else:
        reply = {"action": "hotel", "args": {"name": "Casa Luna"}}
    return json.dumps(reply)


def not_known(request: Any) -> str:
    return json.dumps({"action": "final_answer", "final_answer": "It is not known.", "task_successful": True})


def find_stars(request: Any) -> str:
    call = {"from": "tool", "action": "hotel", "args": {"name": "Casa Luna"}}
    return json.dumps({"from": "result", "final_answer": "3 stars"} if "3 stars" in user_text(request) else call)


def select_tools(request: Any) -> Any:
    if request.component == "selection":
        return {"name": "select_tools", "args": {"tools": ["hotel", "price"]}}
    return "3 stars" if results(request) else {"name": "hotel", "args": {"name": "Casa Luna"}}


FULL = Profile(tool_call=True, parallel_calls=True, forced_tool=True, json_mode=True, json_schema=True)
SMALL = FULL.with_abilities({"tool_call": False, "grammar": True, "parameters": 1.5})
ROOMS = [hotel, price, calculate, search]


def agent_for(run_id: str, journal: SqliteJournal, sent: list[str]) -> tuple[Agent, ScriptedModel]:
    """The agent for this run, and its model. `sent` gets the addressee of every mail."""

    def agent(reply: Any, tools: list[Tool], profile: Profile = FULL, **options: Any) -> tuple[Agent, ScriptedModel]:
        model = ScriptedModel(reply, profile=profile)
        kind = DagAgent if reply is plan else Agent
        return kind(model, tools, journal=journal, **options), model

    match run_id.split("-"):
        case ["tools", *_]:
            return agent(find_facts, [look_up], msgspec.structs.replace(FULL, window=2000))
        case ["approval", *_]:
            return agent(write_mail, [mail_tool(sent)])
        case ["dag", *_]:
            return agent(plan, [work])
        case ["guards", "answer", *_]:
            return agent(not_known, ROOMS, SMALL)
        case ["guards", "tiny"]:
            return agent(find_stars, [hotel, search], SMALL.with_abilities({"tiny": True}))
        case ["guards", *_]:
            return agent(find_price, ROOMS, SMALL)
        case _:
            tools = [*ROOMS, look_up, work]
            return agent(select_tools, tools, selection_threshold=4, plugins=[Reminder()])
