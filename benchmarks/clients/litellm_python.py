# /// script
# dependencies = ["litellm==1.106.2", "mcp", "tenacity"]  # it needs them for tools and retries
# ///
# pyright: basic, reportMissingImports=false
"""LiteLLM by Chat Completions and Anthropic's Messages."""

from __future__ import annotations

import json

import litellm
from cells import *
from pydantic import BaseModel

litellm.suppress_debug_info = True
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": PARAMETERS}}]


class Sum(BaseModel):
    total: int


class Cells:
    def __init__(self, **given):
        self.given = given

    def ask(self, content, past=(), **options):
        messages = [{"role": "user", "content": content}, *past]
        return litellm.completion(**self.given, api_key=TOKEN, messages=messages, **options)

    def said(self, *given, **options):
        return self.ask(*given, **options).choices[0].message.content

    def answer(self):
        same(self.said(ASK), FIVE)

    def stream(self):
        same("".join(chunk.choices[0].delta.content or "" for chunk in self.ask(ASK, stream=True)), FIVE)

    def looked(self, question, count):
        first = self.ask(question, tools=TOOLS).choices[0].message
        same([json.loads(one.function.arguments)["where"] for one in first.tool_calls], ["left", "right"][:count])
        results = [{"role": "tool", "tool_call_id": one.id, "content": "a cat"} for one in first.tool_calls]
        return self.said(question, [first, *results], tools=TOOLS)

    def client_tool(self):
        same(self.looked(LOOK, 1), CAT)

    def parallel(self):
        same(self.looked(LOOK_TWICE, 2), BOTH)

    def typed(self):
        same(Sum.model_validate_json(self.said(DATA, response_format=Sum)), Sum(total=5))

    def image(self):
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
        same(self.said([{"type": "text", "text": SEE}, picture]), SEEN)

    def error(self):
        try:
            self.said(BROKEN)
        except Exception as error:
            return refused(error)
        raise AssertionError("no error")

    def retry(self):  # by default it does not
        same(self.said(FLAKY, num_retries=2), FIVE)

    def abort(self):
        stream = self.ask(SLOW, stream=True)
        next(iter(stream))
        pieces = stream.completion_stream
        getattr(pieces, "streaming_response", pieces).close()


for name, one in (
    ("LiteLLM chat", Cells(model="openai/worker", api_base=f"{ADDRESS}/v1")),
    ("LiteLLM anthropic", Cells(model="anthropic/worker", api_base=ADDRESS)),
):
    cells(name, ["litellm"], *(getattr(one, cell) for cell in CELLS))
