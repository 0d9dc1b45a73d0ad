"""smolagents' agent for tool calls, with its model class for OpenAI-compatible servers."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent

from study.peer_kit import Case
from study.rows import MAX_TOKENS
from treadle._tools.base import Tool as OurTool


class Offered(Tool):
    """A tool of the task. An exception of it is what the agent shows the model."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, tool: OurTool, schemas: bool) -> None:
        self.name = tool.name.replace("-", "_")  # it takes identifiers alone
        self.description = tool.description
        self.inputs = {
            name: _whole(schema, name in tool.parameters.get("required", ()))
            if schemas
            else {"type": schema["type"], "description": schema["description"]}
            for name, schema in tool.parameters["properties"].items()
        }
        self.forward = tool.execute
        super().__init__()


def _whole(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """A parameter of any shape, as smolagents says that it may be left out."""
    return {"type": "any", "description": "", **schema} | ({} if required else {"nullable": True})


async def answer(case: Case) -> tuple[str, str]:
    def see(response: Any) -> None:
        response.read()
        case.on_response(response.json())

    client = openai.DefaultHttpxClient(event_hooks={"response": [see]})
    model = OpenAIModel(
        case.model,
        api_base=case.base_url,
        api_key="none",
        client_kwargs={"http_client": client},
        temperature=0,
        max_tokens=MAX_TOKENS,
        # Its default, "required", keeps llama.cpp from ending a reply that holds no call in the model's own markup:
        # this model writes its calls as plain JSON, which smolagents reads, and then blank lines up to the limit.
        tool_choice="auto",
    )
    agent = ToolCallingAgent(
        [Offered(tool, case.schemas) for tool in case.tools],
        model,
        instructions=case.instructions or None,
        max_steps=case.steps,
        verbosity_level=LogLevel.OFF,
    )
    result: Any = await asyncio.to_thread(agent.run, case.question, return_full_result=True)
    # At its limit of steps the agent has the model write an answer from what there is: it counts as one.
    return "" if result.output is None else str(result.output), "answer" if result.state == "success" else "max_steps"
