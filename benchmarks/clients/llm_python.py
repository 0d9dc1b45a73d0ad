# /// script
# dependencies = ["llm==0.36", "pydantic"]
# ///
# pyright: basic, reportMissingImports=false
"""`llm`: the library of the command, with its model for servers like OpenAI's."""

from __future__ import annotations

import base64

import llm
from cells import *
from llm.default_plugins.openai_models import Chat
from pydantic import BaseModel

model = Chat("worker", api_base=f"{ADDRESS}/v1", supports_schema=True, supports_tools=True, vision=True)
model.key = TOKEN


class Sum(BaseModel):
    total: int


def look(where: str) -> str:
    """Look somewhere."""
    return "a cat"


def answer():
    same(model.prompt(ASK, stream=False).text(), FIVE)


def stream():
    same("".join(model.prompt(ASK)), FIVE)


def client_tool():
    same(model.chain(LOOK, tools=[look]).text(), CAT)


def parallel():
    same(model.chain(LOOK_TWICE, tools=[look]).text(), BOTH)


def typed():
    same(Sum.model_validate_json(model.prompt(DATA, schema=Sum).text()), Sum(total=5))


def image():
    picture = llm.Attachment(type="image/png", content=base64.b64decode(PICTURE))
    same(model.prompt(SEE, attachments=[picture]).text(), SEEN)


def error():
    try:
        model.prompt(BROKEN).text()
    except Exception as error:
        return refused(error)
    raise AssertionError("no error")


def retry():
    same(model.prompt(FLAKY).text(), FIVE)


def abort():
    stream = iter(model.prompt(SLOW))
    next(stream)
    stream.close()


cells("llm", ["llm"], *(globals()[cell] for cell in CELLS))
