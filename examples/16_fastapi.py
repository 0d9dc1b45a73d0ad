"""An endpoint of FastAPI that streams an agent's answer as server-sent events: `uvicorn 16_fastapi:app`.

Needs fastapi. Run as a program, it asks itself a question (that needs httpx, too).
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

from treadle import Agent, ScriptedModel, tool
from treadle.events import AnswerDelta, AnswerDone, AnswerRetracted, Reset, ToolDone


@tool(effect="pure")
async def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"lamp": 40.0}[item]


SCRIPT = [{"name": "price", "args": {"item": "lamp"}}, "The lamp costs 40 dollars."]
agent = Agent(ScriptedModel(SCRIPT, repeat_last=True), tools=[price])  # or "openai:gpt-5-mini"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with agent:  # closes it when the application ends
        yield


app = FastAPI(lifespan=lifespan)


async def events(question: str) -> AsyncIterator[str]:
    async for event in agent.stream(question):  # a client that leaves ends the loop, and with it the run
        match event:
            case ToolDone(content=content):
                yield f"event: tool\ndata: {json.dumps(str(content))}\n\n"
            case AnswerDelta(text=text):
                yield f"event: text\ndata: {json.dumps(text)}\n\n"
            case AnswerRetracted() | Reset():  # the words so far were not the answer
                yield "event: reset\ndata: null\n\n"
            case AnswerDone(text=text):
                yield f"event: done\ndata: {json.dumps(text)}\n\n"


@app.get("/ask")
async def ask(question: str) -> StreamingResponse:
    return StreamingResponse(events(question), media_type="text/event-stream")


if __name__ == "__main__":
    with TestClient(app) as client:
        text = client.get("/ask", params={"question": "What does the lamp cost?"}).text
    print(text)
    assert 'event: tool\ndata: "40.0"' in text
    assert 'event: done\ndata: "The lamp costs 40 dollars."' in text
