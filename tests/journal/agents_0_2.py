"""Agents like those that wrote the journal of 0.2, with models whose replies depend on the request alone."""

from __future__ import annotations

from typing import Any

from treadle import Agent, DagAgent, ScriptedModel, external_tool, tool
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.profile import Profile

QUESTIONS = {
    "plan": "Do all of it.",
    "approval": "Write to Ada.",
    "compaction": "What are the keys of the facts?",
    "handoff": "I want my money back.",
    "external": "What is on the left?",
}
ANSWERS = {
    "plan": "all done",
    "approval": "The mail is sent.",
    "compaction": "The keys are 7, 14, 21 and so on.",
    "handoff": "The refund of order 7 is on its way.",
    "external": "There is a cat.",
}


def results(request: Any) -> list[str]:
    return [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def once(name: str, answer: str, **args: Any) -> Any:
    """A model that calls one tool and then answers."""
    return lambda request: answer if results(request) else {"name": name, "args": args, "id": f"call_{name}"}


def plan(request: Any) -> Any:
    if request.component == "planner":
        steps = [
            {"id": "a", "task": "do a", "dependencies": []},
            {"id": "b", "task": "do b with $a", "dependencies": ["a"]},
        ]
        return {"name": "make_plan", "args": {"steps": steps}}
    if request.component == "analyzer":
        verdict = {"achieved": True, "confidence": 1.0, "final_answer": "all done", "reasoning": "both are there"}
        return {"name": "judge", "args": verdict}
    step = next(text_of(m.content)[3] for m in request.messages if isinstance(m, UserMessage))
    return f"result of {step}" if results(request) else {"name": "work", "args": {"step": step}, "id": f"call_{step}"}


def find_facts(request: Any) -> Any:
    if request.component == "compaction":
        return "The facts so far were looked up; the key of fact n is n * 7."
    numbers = [int(text.split(":")[0].removeprefix("Fact ")) for text in results(request)]
    number = max(numbers, default=0) + 1
    args = {"number": number}
    return ANSWERS["compaction"] if number > 8 else {"name": "look_up", "args": args, "id": f"call_{number}"}


@tool(effect="idempotent")
def work(step: str) -> str:
    """Do a step."""
    return f"{step} is done"


@tool(effect="pure")
def look_up(number: int) -> str:
    """Look up a fact."""
    return f"Fact {number}: the key is {number * 7}. " + "It has a long story that nobody needs. " * 30


def agent_for(run_id: str, journal: Any, sent: list[str]) -> Any:
    """The agent for this run. `sent` gets the addressee of every mail."""

    @tool(approval="ask")
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        return f"order {order} is refunded"

    profile = Profile(
        tool_call=True, parallel_calls=True, forced_tool=True, json_mode=True, json_schema=True, window=2000
    )
    match run_id:
        case "plan":
            return DagAgent(ScriptedModel(plan), [work], journal=journal)
        case "approval":
            model = ScriptedModel(once("send_mail", ANSWERS[run_id], to="ada@example.org", text="hello"))
            return Agent(model, [send_mail], journal=journal)
        case "compaction":
            return Agent(ScriptedModel(find_facts, profile=profile), [look_up], journal=journal)
        case "handoff":
            answer = ANSWERS[run_id]
            refunds = Agent(ScriptedModel(once("refund", answer, order=7)), [refund], name="refunds")
            front = ScriptedModel(once("transfer_to_refunds", answer, reason="a refund"))
            return Agent(front, [refunds.as_handoff()], journal=journal, name="front")
        case _:
            schema = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
            model = ScriptedModel(once("look", ANSWERS[run_id], where="left"))
            return Agent(model, [external_tool("look", "Look somewhere.", schema)], journal=journal)
