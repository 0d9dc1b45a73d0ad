# /// script
# dependencies = ["openai"]
# ///
# pyright: basic, reportMissingImports=false
"""OpenAI's own client: Chat Completions and Responses."""

from __future__ import annotations

import json

import openai
from cells import *
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key=TOKEN)


class Sum(BaseModel):
    total: int


class Chat:
    tools = [{"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}]

    def ask(self, content, **options):
        return client.chat.completions.create(
            model="worker", messages=[{"role": "user", "content": content}], **options
        )

    def answer(self):
        same(self.ask(ASK).choices[0].message.content, FIVE)

    def stream(self):
        same(
            "".join(chunk.choices[0].delta.content or "" for chunk in self.ask(ASK, stream=True) if chunk.choices), FIVE
        )

    def _looked(self, question, count):
        first = self.ask(question, tools=self.tools).choices[0].message
        same(len(first.tool_calls), count)
        results = [{"role": "tool", "tool_call_id": one.id, "content": "a cat"} for one in first.tool_calls]
        past = [{"role": "user", "content": question}, first, *results]
        done = client.chat.completions.create(model="worker", messages=past, tools=self.tools)
        return done.choices[0].message.content

    def client_tool(self):
        same(self._looked(LOOK, 1), CAT)

    def parallel(self):
        same(self._looked(LOOK_TWICE, 2), BOTH)

    def typed(self):
        done = client.chat.completions.parse(
            model="worker", messages=[{"role": "user", "content": DATA}], response_format=Sum
        )
        same(done.choices[0].message.parsed, Sum(total=5))

    def image(self):
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
        same(self.ask([{"type": "text", "text": SEE}, picture]).choices[0].message.content, SEEN)

    def error(self):
        try:
            self.ask(BROKEN)
        except openai.APIStatusError as error:
            return refused(error)
        raise AssertionError("no error")

    def retry(self):
        same(self.ask(FLAKY).choices[0].message.content, FIVE)

    def abort(self):
        with self.ask(SLOW, stream=True) as stream:
            next(iter(stream))


class Responses(Chat):
    tools = [{"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False}]

    def ask(self, content, **options):
        return client.responses.create(model="worker", input=[{"role": "user", "content": content}], **options)

    def answer(self):
        same(self.ask(ASK).output_text, FIVE)

    def stream(self):
        with client.responses.stream(model="worker", input=ASK) as stream:
            same("".join(event.delta for event in stream if event.type == "response.output_text.delta"), FIVE)
            same(stream.get_final_response().output_text, FIVE)

    def _looked(self, question, count):
        first = client.responses.create(model="worker", input=question, tools=self.tools)
        wanted = [item for item in first.output if item.type == "function_call"]
        same([json.loads(one.arguments)["where"] for one in wanted], ["left", "right"][:count])
        results = [{"type": "function_call_output", "call_id": one.call_id, "output": "a cat"} for one in wanted]
        past = [{"role": "user", "content": question}, *first.output, *results]
        return client.responses.create(model="worker", input=past, tools=self.tools).output_text

    def typed(self):
        same(client.responses.parse(model="worker", input=DATA, text_format=Sum).output_parsed, Sum(total=5))

    def image(self):
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "auto"}
        same(self.ask([{"type": "input_text", "text": SEE}, picture]).output_text, SEEN)

    def retry(self):
        same(self.ask(FLAKY).output_text, FIVE)


for name, one in (("openai chat", Chat()), ("openai responses", Responses())):
    cells(name, ["openai"], *(getattr(one, cell) for cell in CELLS))
