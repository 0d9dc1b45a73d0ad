"""A plan and a document are searched in the runs they are made of: the last first, then those that fed it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit import call
from treadle import DagAgent, ScriptedModel, find_causes
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError
from treadle._types.messages import SystemMessage, UserMessage, text_of

pytestmark = pytest.mark.anyio
BAD = "Amounts are net."


def clerk(request: Any) -> Any:
    """Reads the bill by the rules of its prompt; who has none repeats what it is told."""
    if request.component == "planner":
        steps = [{"id": "read", "task": "Read bill 7."}, {"id": "tell", "task": "Tell it.", "dependencies": ["read"]}]
        return call("make_plan", steps=steps)
    if request.component == "analyzer":
        said = re.findall(r"Told: \d+", str(request.messages))
        return call("judge", achieved=True, confidence=1.0, reasoning="All read.", final_answer=said[-1])
    said = "\n".join(
        message.text if isinstance(message, SystemMessage) else text_of(message.content)
        for message in request.messages
        if isinstance(message, SystemMessage | UserMessage)
    )
    if "Read bill" in said and "Tell it" not in said:
        return "It is 100." if BAD in said else "It is 119."
    return "Told: 119." if "119" in said else "Told: 100."


def document(journal: MemoryJournal, bad: str = BAD) -> GraphAgent:
    def agent(prompt: str, after: str, **params: Any) -> dict[str, Any]:
        prompts = [{"role": "user", "content": prompt}]
        made = {"component_name": "Agent", "params": {"preset": "default", "prompts": prompts, **params}}
        return {"obj": made, "downstream": [after]}

    components = {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:Read"]},
        "Agent:Read": agent("Read bill 7.", "Agent:Tell", sys_prompt=f"Be kind.\n{bad}\nBe brief."),
        "Agent:Tell": agent("Tell it: {{Agent:Read@content}}", "Message:M"),
        "Message:M": {"obj": {"component_name": "Message", "params": {"content": ["{{Agent:Tell@content}}"]}}},
    }
    return GraphAgent(parse_document({"components": components}), Path(), model=ScriptedModel(clerk), journal=journal)


async def test_the_cause_in_an_earlier_component_of_a_document_is_found():
    journal = MemoryJournal()
    made = document(journal)
    result = await made.run("How much?")
    assert result.answer == "Told: 100."
    found = await find_causes(made, result.run_id, answer="119")
    assert found.places[0].before == BAD
    assert not found.causes
    assert BAD in str(found)


async def test_a_plan_is_searched_in_its_steps():
    journal = MemoryJournal()
    made = DagAgent(ScriptedModel(clerk), system=f"Be kind.\n{BAD}", journal=journal)
    result = await made.run("How much?")
    found = await find_causes(made, result.run_id, answer="119")
    assert found.places[0].before == BAD


async def test_a_document_that_is_right_has_no_cause():
    journal = MemoryJournal()
    made = document(journal, bad="")
    result = await made.run("How much?")
    assert result.answer == "Told: 119."
    with pytest.raises(ConfigError, match="nothing is wrong"):
        await find_causes(made, result.run_id, answer="119")
