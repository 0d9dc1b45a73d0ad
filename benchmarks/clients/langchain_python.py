# /// script
# dependencies = ["langchain==1.4.7", "langchain-openai", "langchain-anthropic"]
# ///
# pyright: basic, reportMissingImports=false
"""LangChain's agents (LangGraph's loop) by Chat Completions, Responses and Anthropic's Messages."""

from __future__ import annotations

from cells import *
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Sum(BaseModel):
    total: int


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return "a cat"


class Cells:
    def __init__(self, model):
        self.model = model

    def ask(self, content, tools=(), **options):
        state = create_agent(self.model, list(tools), **options).invoke({"messages": [HumanMessage(content)]})
        return state if options else state["messages"][-1].text

    def answer(self):
        same(self.ask(ASK), FIVE)

    def stream(self):
        same("".join(chunk.text for chunk in self.model.stream(ASK)), FIVE)

    def client_tool(self):
        same(self.ask(LOOK, [look]), CAT)

    def parallel(self):
        same(self.ask(LOOK_TWICE, [look]), BOTH)

    def typed(self):
        same(self.model.with_structured_output(Sum).invoke(DATA), Sum(total=5))
        same(self.ask(DATA, response_format=Sum)["structured_response"], Sum(total=5))

    def image(self):
        picture = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
        same(self.ask([{"type": "text", "text": SEE}, picture]), SEEN)

    def error(self):
        try:
            self.ask(BROKEN)
        except Exception as error:
            return refused(error)
        raise AssertionError("no error")

    def retry(self):
        same(self.ask(FLAKY), FIVE)

    def abort(self):
        stream = self.model.stream(SLOW)
        while not next(stream).text:
            pass
        stream.close()


openai = {"model": "worker", "base_url": f"{ADDRESS}/v1", "api_key": TOKEN}
MODELS = {
    "LangChain chat": ChatOpenAI(**openai),
    "LangChain responses": ChatOpenAI(**openai, use_responses_api=True),
    "LangChain anthropic": ChatAnthropic(model="worker", base_url=ADDRESS, api_key=TOKEN),
}
for name, model in MODELS.items():
    cells(name, ["langchain"], *(getattr(Cells(model), cell) for cell in CELLS))
