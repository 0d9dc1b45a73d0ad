# /// script
# dependencies = ["anthropic", "pydantic"]
# ///
# pyright: basic, reportMissingImports=false
"""Anthropic's own client: Messages."""

from __future__ import annotations

import anthropic
from cells import *
from pydantic import BaseModel

client = anthropic.Anthropic(base_url=ADDRESS, api_key=TOKEN)
TOOLS = [{"name": "look", "description": "Looks.", "input_schema": PARAMETERS}]


class Sum(BaseModel):
    total: int


def ask(content, **options):
    given = {"model": "worker", "max_tokens": 500, "messages": [{"role": "user", "content": content}], **options}
    return client.messages.create(**given)


def answer():
    same(ask(ASK).content[-1].text, FIVE)


def stream():
    with client.messages.stream(
        model="worker", max_tokens=500, messages=[{"role": "user", "content": ASK}]
    ) as streaming:
        same("".join(streaming.text_stream), FIVE)
        same(streaming.get_final_message().content[-1].text, FIVE)


def looked(question, count):
    first = ask(question, tools=TOOLS)
    wanted = [block for block in first.content if block.type == "tool_use"]
    same([block.input["where"] for block in wanted], ["left", "right"][:count])
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": "a cat"} for block in wanted]
    said = [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    return ask("", tools=TOOLS, messages=[{"role": "user", "content": question}, *said]).content[-1].text


def client_tool():
    same(looked(LOOK, 1), CAT)


def parallel():
    same(looked(LOOK_TWICE, 2), BOTH)


def typed():
    asked = [{"role": "user", "content": DATA}]
    done = client.messages.parse(model="worker", max_tokens=500, messages=asked, output_format=Sum)
    same(done.parsed_output, Sum(total=5))


def image():
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    same(ask([{"type": "image", "source": source}, {"type": "text", "text": SEE}]).content[-1].text, SEEN)


def error():
    try:
        ask(BROKEN)
    except anthropic.APIStatusError as error:
        return refused(error)
    raise AssertionError("no error")


def retry():
    same(ask(FLAKY).content[-1].text, FIVE)


def abort():
    with client.messages.stream(
        model="worker", max_tokens=500, messages=[{"role": "user", "content": SLOW}]
    ) as streaming:
        next(iter(streaming.text_stream))


cells("anthropic", ["anthropic"], *(globals()[cell] for cell in CELLS))
