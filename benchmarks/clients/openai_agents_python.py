# /// script
# dependencies = ["openai-agents==0.24.0"]
# ///
# pyright: basic, reportMissingImports=false
"""openai-agents by Responses, its default, and by Chat Completions."""

from __future__ import annotations

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from cells import *
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)  # it would send traces to its vendor


class Sum(BaseModel):
    total: int


@function_tool
def look(where: str) -> str:
    """Look somewhere."""
    return "a cat"


class Cells:
    def __init__(self, model):
        self.model = model

    def agent(self, **options):
        model = self.model("worker", AsyncOpenAI(base_url=f"{ADDRESS}/v1", api_key=TOKEN))
        return Agent("asker", model=model, **options)

    async def ask(self, content, **options):
        return (await Runner.run(self.agent(**options), content)).final_output

    async def answer(self):
        same(await self.ask(ASK), FIVE)

    async def stream(self):
        result = Runner.run_streamed(self.agent(), ASK)
        pieces = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
        same("".join(one.delta for one in pieces if one.type == "response.output_text.delta"), FIVE)

    async def client_tool(self):
        same(await self.ask(LOOK, tools=[look]), CAT)

    async def parallel(self):
        same(await self.ask(LOOK_TWICE, tools=[look]), BOTH)

    async def typed(self):
        same(await self.ask(DATA, output_type=Sum), Sum(total=5))

    async def image(self):
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}
        content = [{"type": "input_text", "text": SEE}, picture]
        same(await self.ask([{"role": "user", "content": content}]), SEEN)

    async def error(self):
        try:
            await self.ask(BROKEN)
        except Exception as error:
            return refused(error)
        raise AssertionError("no error")

    async def retry(self):
        same(await self.ask(FLAKY), FIVE)

    async def abort(self):
        result = Runner.run_streamed(self.agent(), SLOW)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                result.cancel()


MODELS = {
    "openai-agents responses": OpenAIResponsesModel,
    "openai-agents chat": OpenAIChatCompletionsModel,
}
for name, model in MODELS.items():
    cells(name, ["openai-agents"], *(getattr(Cells(model), cell) for cell in CELLS))
