# /// script
# dependencies = ["pydantic-ai-slim[openai,anthropic]==2.66.0"]
# ///
# pyright: basic, reportMissingImports=false
"""pydantic-ai by Chat Completions, Responses and Anthropic's Messages."""

from __future__ import annotations

import base64

from cells import *
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

openai = OpenAIProvider(base_url=f"{ADDRESS}/v1", api_key=TOKEN)


class Sum(BaseModel):
    total: int


def look(where: str) -> str:
    """Look somewhere."""
    return "a cat"


class Cells:
    def __init__(self, make):
        self.make = make

    def agent(self, **options):
        return Agent(self.make(), **options)

    async def answer(self):
        same((await self.agent().run(ASK)).output, FIVE)

    async def stream(self):
        async with self.agent().run_stream(ASK) as result:
            same("".join([piece async for piece in result.stream_text(delta=True)]), FIVE)

    async def client_tool(self):
        same((await self.agent(tools=[look]).run(LOOK)).output, CAT)

    async def parallel(self):
        same((await self.agent(tools=[look]).run(LOOK_TWICE)).output, BOTH)

    async def typed(self):
        same((await self.agent(output_type=Sum).run(DATA)).output, Sum(total=5))

    async def image(self):
        picture = BinaryContent(base64.b64decode(PICTURE), media_type="image/png")
        same((await self.agent().run([SEE, picture])).output, SEEN)

    async def error(self):
        try:
            await self.agent().run(BROKEN)
        except Exception as error:
            return refused(error)
        raise AssertionError("no error")

    async def retry(self):
        same((await self.agent().run(FLAKY)).output, FIVE)

    async def abort(self):
        async with self.agent().run_stream(SLOW) as result:
            async for _ in result.stream_text():
                break


MODELS = {
    "pydantic-ai chat": lambda: OpenAIChatModel("worker", provider=openai),
    "pydantic-ai responses": lambda: OpenAIResponsesModel("worker", provider=openai),
    "pydantic-ai anthropic": lambda: AnthropicModel(
        "worker", provider=AnthropicProvider(base_url=ADDRESS, api_key=TOKEN)
    ),
}
for name, make in MODELS.items():
    cells(name, ["pydantic-ai-slim"], *(getattr(Cells(make), cell) for cell in CELLS))
