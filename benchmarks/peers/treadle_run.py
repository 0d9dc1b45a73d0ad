"""Treadle as a runner of the peers bench: the same job as every framework there, with default settings, no journal.

`run.py` beside this file copies it into the bench. The names it defines are the bench's contract.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from treadle import Agent, OpenAIModel, ScriptedModel, tool
from treadle._types.events import AnswerDelta
from treadle._types.messages import ToolMessage

VENV = "treadle"
DIST = "treadle"


def build_model(c: Any) -> OpenAIModel:
    return OpenAIModel(c.model_name, base_url=c.base_url, api_key=c.api_key)


def build(c: Any, model: Any) -> Agent:
    return Agent(model, [tool(c.tool)], system=c.instructions, max_iterations=c.max_steps)


async def run(agent: Agent, prompt: str) -> str:
    return (await agent.run(prompt)).answer


async def stream(agent: Agent, prompt: str) -> AsyncIterator[str]:
    async for event in agent.stream(prompt, stream_thoughts=True):
        if isinstance(event, AnswerDelta):
            yield event.text


def build_inproc_model(c: Any) -> ScriptedModel:
    def reply(request: Any) -> Any:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        return (
            {"name": "calculator", "args": {"expression": f"{done + 1}*7"}, "id": f"call_{done}"}
            if done < c.k
            else "FINAL"
        )

    return ScriptedModel(reply)


async def aclose(model: Any) -> None:
    await model.aclose()
