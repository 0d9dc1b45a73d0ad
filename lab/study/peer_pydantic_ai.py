"""pydantic-ai's agent, with its provider for OpenAI-compatible servers."""

from __future__ import annotations

from typing import Any

import openai
from pydantic_ai import Agent, ModelRetry, Tool, UsageLimitExceeded
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from study.peer_kit import Case, typed
from study.rows import MAX_TOKENS
from treadle._tools.base import Tool as OurTool


def _offered(tool: OurTool, case: Case) -> Tool:
    if case.schemas:
        return Tool.from_schema(tool.execute, tool.name, tool.description, dict(tool.parameters))
    # As many retries as steps: with its default of one retry it would end runs that the others may continue.
    return Tool(typed(tool, ModelRetry), name=tool.name, description=tool.description, max_retries=case.steps)


async def answer(case: Case) -> tuple[str, str]:
    async def see(response: Any) -> None:
        await response.aread()
        case.on_response(response.json())

    client = openai.DefaultAsyncHttpxClient(event_hooks={"response": [see]})
    model = OpenAIChatModel(
        case.model,
        provider=OpenAICompatibleProvider("llama.cpp", base_url=case.base_url, api_key="none", http_client=client),
    )
    agent = Agent(
        model,
        instructions=case.instructions or None,
        tools=[_offered(tool, case) for tool in case.tools],
        model_settings=ModelSettings(temperature=0, max_tokens=MAX_TOKENS),
    )
    try:
        result = await agent.run(case.question, usage_limits=UsageLimits(request_limit=case.steps))
    except UsageLimitExceeded:
        return "", "max_steps"
    return str(result.output), "answer"
