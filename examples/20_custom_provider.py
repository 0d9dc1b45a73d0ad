"""A provider with a protocol of its own as a model: one method that streams parts and ends in exactly one reply."""

import asyncio
import json

import aiohttp
from aiohttp import test_utils, web

from treadle import Agent, BadReplyError, Profile, Reply, RequestRefusedError, TransientModelError, Usage, tool
from treadle.messages import TextDelta, UserMessage, text_of


class LineModel:
    """Talks to a server that takes {"prompt": ...} and answers with lines: words, then the counts."""

    name = "lines"
    profile = Profile(tool_call=False, window=8192)  # no calls of its own: the engine takes a text dialect

    def __init__(self, url: str) -> None:
        self.url = url

    async def stream(self, request):
        said = [(m.role, text_of(m.content) if isinstance(m, UserMessage) else m.text) for m in request.messages]
        prompt = {"prompt": "\n".join(f"{role}: {text}" for role, text in said)}
        async with aiohttp.ClientSession() as session, session.post(self.url, json=prompt) as response:
            if response.status >= 400:  # the engine retries the first kind, and never the second
                kind = TransientModelError if response.status in (429, 500, 502, 503) else RequestRefusedError
                raise kind(f"the server answered {response.status}", status=response.status)
            text, data = "", {}
            async for line in response.content:
                data = json.loads(line)
                text += data.get("word", "")
                if request.stream and "word" in data:
                    yield TextDelta(data["word"])
        if "out" not in data:
            raise BadReplyError("the reply ended without its counts")
        yield Reply(text=text, usage=Usage(input_tokens=data["in"], output_tokens=data["out"], requests=1))

    async def aclose(self) -> None: ...  # nothing stays open


@tool
def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"lamp": 40.0}[item]


async def provider(request):  # what is really somebody else's server
    call = {"type": "tool_call", "tool_name": "price", "tool_args": {"item": "lamp"}}
    word = json.dumps({"type": "final_answer", "answer": "40 dollars."} if "40.0" in await request.text() else call)
    return web.Response(text=json.dumps({"word": word}) + "\n" + json.dumps({"in": 9, "out": 4}))


async def main() -> None:
    async with test_utils.RawTestServer(provider) as server:
        result = await Agent(LineModel(str(server.make_url("/"))), tools=[price]).run("What does the lamp cost?")
    assert (result.answer, result.usage.total_tokens, result.metadata["dialect"]) == ("40 dollars.", 26, "json")


asyncio.run(main())
