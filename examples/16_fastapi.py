"""An endpoint of FastAPI that streams an agent's answer as server-sent events. Needs fastapi (and httpx for the test).


Your application: `uvicorn 16_fastapi:app`. Run as a program, it asks itself a question.
"""

import json
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

from treadle import Agent, ScriptedModel, tool
from treadle.events import AnswerDelta, AnswerDone, Reset, ToolDone

app = FastAPI()


@tool(effect="pure")
async def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"lamp": 40.0}.get(item, 0.0)


SCRIPT = [{"name": "price", "args": {"item": "lamp"}}, "The lamp costs 40 dollars."]
agent = Agent(ScriptedModel(SCRIPT), tools=[price])  # or "openai:gpt-5-mini"


async def events(question: str) -> AsyncIterator[str]:
    async for event in agent.stream(question):  # a client that leaves ends the loop, and with it the run
        match event:
            case ToolDone(content=content):
                yield f"event: tool\ndata: {json.dumps(str(content))}\n\n"
            case AnswerDelta(text=text):
                yield f"event: text\ndata: {json.dumps(text)}\n\n"
            case Reset():
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
