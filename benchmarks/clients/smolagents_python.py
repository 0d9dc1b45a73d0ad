# /// script
# dependencies = ["smolagents[openai]==1.26.0", "pillow"]
# ///
# pyright: basic, reportMissingImports=false
"""smolagents: its tool-calling agent, whose answers are calls of a tool, and its model for the stream."""

from __future__ import annotations

import base64
import io

from cells import *
from PIL import Image
from smolagents import ChatMessage, LogLevel, OpenAIModel, ToolCallingAgent, tool

model = OpenAIModel("worker", api_base=f"{ADDRESS}/v1", api_key=TOKEN)


@tool
def look(where: str) -> str:
    """Look somewhere.

    Args:
        where: In which direction.
    """
    return "a cat"


def ask(question, **options):
    return ToolCallingAgent([look], model, verbosity_level=LogLevel.OFF).run(question, **options)


def plain(question):
    return [ChatMessage(role="user", content=[{"type": "text", "text": question}])]


def answer():
    same(ask(ASK), FIVE)


def stream():
    same("".join(delta.content or "" for delta in model.generate_stream(plain(ASK))), FIVE)


def client_tool():
    same(ask(LOOK), CAT)


def parallel():
    same(ask(LOOK_TWICE), BOTH)


def image():
    same(ask(SEE, images=[Image.open(io.BytesIO(base64.b64decode(PICTURE)))]), SEEN)


def error():
    try:
        ask(BROKEN)
    except Exception as error:
        return refused(error)
    raise AssertionError("no error")


def retry():
    same(ask(FLAKY), FIVE)


def abort():
    stream = model.generate_stream(plain(SLOW))
    next(stream)
    stream.close()


cells("smolagents", ["smolagents"], answer, stream, client_tool, parallel, image, error, retry, abort)
