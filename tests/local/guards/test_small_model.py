"""Skills, a judge, many tools, a hand-off and memory with a small model of this machine.

What such a model chooses is its own affair; what must hold whatever it says is asserted, and what it did is printed
(`pytest -m model -s`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import go
from treadle import Agent, Budget, Tool, tool
from treadle._inspect.replay import replay
from treadle._journal.memory import MemoryJournal
from treadle._local.weights import weights
from treadle._types.errors import ModelError
from treadle.plugins import Guardrail, Memory, MemoryStore, ToolSearch, on_topic

MODEL = "qwen2.5-coder-0.5b"
pytestmark = [pytest.mark.model, pytest.mark.long]  # what a real model makes of plug-ins
ENDS = ("answer", "final_tool", "limit", "stuck", "empty", "budget")


@pytest.fixture(scope="module")
def model() -> Iterator[Any]:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip('needs the local model: pip install "treadle[local]"')
    try:
        weights.ensure(MODEL)
    except ModelError as error:
        pytest.skip(f"{MODEL} cannot be had: {error}")
    from treadle._local.model import LocalModel

    model = LocalModel(MODEL, n_ctx=4096, slots=1, max_tokens=160)
    yield model
    go(model.aclose())


def finish(agent: Agent, question: str, **options: Any) -> Any:
    """The result; its log renders to the requests that were sent."""

    async def main() -> Any:
        journal = MemoryJournal()
        agent.journal = journal
        result = await agent.run(question, **options)
        for info in await journal.list(limit=50):
            assert replay(await journal.load(info.run_id)).difference is None
        return result

    result = go(main(), limit=880)
    print(f"\n{question} -> {result.stop_reason}: {result.answer[:300]!r}")
    for step in result.steps:
        print(f"  {step.tool} {step.args}: {step.error or step.observation[:100]!r}")
    assert result.stop_reason in ENDS
    return result


def test_a_skill_is_named_and_its_body_comes_only_when_it_is_chosen(model: Any, tmp_path: Path):
    skill = tmp_path / "rain-report"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        "---\nname: rain-report\ndescription: How this office writes about rain. Use it for questions on rain.\n---\n"
        'It rained on 12 of 31 days in May. Write "N of M days", never a percentage.\n'
    )
    agent = Agent(model, tools=None, skills=[tmp_path], max_iterations=4)
    result = finish(agent, "How often did it rain in May? Use the skill rain-report.")
    used = [step for step in result.steps if step.tool == "use_skill" and not step.error]
    assert all("never a percentage" in step.observation for step in used)
    # A model may also read the file itself: either way it is a call in the log.
    chosen = [step for step in result.steps if "never a percentage" in step.observation]
    said = [str(getattr(message, "content", "")) for message in result.messages]
    assert any("never a percentage" in text for text in said) == bool(chosen)


@pytest.mark.parametrize("question", ["When does the next train to Oslo leave?", "How do I cook rice?"])
def test_a_judge_decides_or_has_refused(model: Any, question: str):
    guard = Guardrail(on_topic("railways and trains"), name="topic", message="I only know about trains.")
    result = finish(Agent(model, tools=None, plugins=[guard], max_iterations=2), question)
    report = result.metadata["reports"]["topic"]
    print(" ", report)
    assert report["requests"] >= 1
    assert report["tokens"] > 0
    assert (result.answer == "I only know about trains.") == bool(report["refused"])


def test_of_a_hundred_tools_few_are_offered_and_only_those_run(model: Any):
    objects = ("invoice", "flight", "parcel", "song", "recipe", "server", "photo", "contact", "hotel", "ticket")
    actions = ("create", "delete", "update", "list", "search", "export", "share", "archive", "copy", "approve")
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    ran: list[str] = []

    def make(name: str, text: str) -> Tool:
        def done(id: str) -> str:
            ran.append(name)
            return f"{name} {id}: done"

        return Tool(name, text, schema, done, effect="pure")

    tools = [make(f"{action}_{thing}", f"{action.title()} the {thing}.") for thing in objects for action in actions]

    def vectors(texts: list[str]) -> list[list[float]]:
        return [[float(word in text.lower()) for word in (*objects, *actions)] for text in texts]

    agent = Agent(model, tools=tools, plugins=[ToolSearch(vectors)], max_iterations=4)
    result = finish(agent, "Delete the flight LH 12.")
    assert len(result.steps) <= 40
    assert set(ran) <= {step.tool for step in result.steps}
    assert all(step.error for step in result.steps if step.tool not in ran and step.tool != "find_tools")


@tool(effect="pure")
def open_bills(customer: str) -> str:
    """The bills of a customer that are not paid."""
    return f"{customer}: 2 bills, 31 euros"


def test_whoever_has_the_conversation_answers(model: Any):
    billing = Agent(model, tools=[open_bills], name="billing", description="Knows what is owed.", max_iterations=4)
    front = Agent(model, tools=[billing.as_handoff()], name="front", max_iterations=4, budget=Budget(requests=12))
    result = finish(front, "I am customer 7. What do I owe? Ask the agent who knows about bills.")
    handed = result.metadata["reports"].get("handoff")
    print(" ", handed)
    assert result.usage.requests <= 12
    if handed and result.stop_reason == "final_tool":
        assert result.answer == result.steps[-1].observation
    else:
        assert not any(step.tool == "transfer_to_billing" and not step.error for step in result.steps)


def test_what_is_remembered_is_bounded_and_from_its_run(model: Any, tmp_path: Path):
    @tool(effect="pure")
    def address(name: str) -> str:
        """Look up where somebody lives."""
        return f"{name} lives in Oslo."

    store = MemoryStore(tmp_path / "memory.db")
    agent = Agent(model, tools=[address], plugins=[Memory(store, rank="text")], max_iterations=3)
    result = finish(agent, "Where does Ann live? Look it up with the tool address.", user="ann")
    memos = store.all("ann")
    for memo in memos:
        print(f"  remembered: {memo.summary!r}")
    assert len(memos) <= len(result.steps)
    assert all(memo.run == result.run_id and 0 < len(memo.summary) <= 1_000 for memo in memos)
    again = finish(agent, "Where does Ann live?", user="ann")
    recalled = any("From earlier work for this user" in str(getattr(m, "content", "")) for m in again.messages)
    assert recalled == bool(memos)
