"""LangGraph's prebuilt agent (`create_agent` in LangChain 1.x), with its class for OpenAI-compatible servers."""

from __future__ import annotations

from typing import Any

import openai
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError

from study.peer_kit import Case, typed
from study.rows import MAX_TOKENS


async def answer(case: Case) -> tuple[str, str]:
    async def see(response: Any) -> None:
        await response.aread()
        case.on_response(response.json())

    model = ChatOpenAI(
        model=case.model,
        base_url=case.base_url,
        api_key="none",
        temperature=0,
        max_tokens=MAX_TOKENS,
        http_async_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [see]}),
    )
    tools = [
        StructuredTool.from_function(
            tool.execute if case.schemas else typed(tool, ToolException),
            name=tool.name,
            description=tool.description,
            args_schema=tool.parameters if case.schemas else None,
            handle_tool_error=True,
        )
        for tool in case.tools
    ]
    agent = create_agent(model, tools, system_prompt=case.instructions or None)
    try:
        # A step is a node of the graph: one for the model, one for the tools.
        state = await agent.ainvoke(
            {"messages": [{"role": "user", "content": case.question}]}, {"recursion_limit": 2 * case.steps + 1}
        )
    except GraphRecursionError:
        return "", "max_steps"
    return str(state["messages"][-1].text), "answer"
