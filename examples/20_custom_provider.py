"""A provider with a protocol of its own as a model: one method that streams parts and ends in one reply."""

import asyncio
import json

import aiohttp
from aiohttp import test_utils, web

from treadle import Agent, Profile, Reply, TransientModelError, Usage, tool
from treadle.messages import TextDelta


class LineModel:
    """Talks to a server that takes {"prompt": ...} and answers with lines: words, then the counts."""

    name = "lines"
    profile = Profile(tool_call=False, window=8192)  # no calls of its own: the engine takes a text dialect

    url = ""

    async def stream(self, request):
        prompt = {"prompt": "\n".join(str(message) for message in request.messages)}
        async with aiohttp.ClientSession() as session, session.post(self.url, json=prompt) as response:
            if response.status >= 400:  # the engine retries it
                raise TransientModelError(f"the server answered {response.status}", status=response.status)
            text = ""
            async for line in response.content:
                data = json.loads(line)
                text += data.get("word", "")
                if request.stream and "word" in data:
                    yield TextDelta(data["word"])
        yield Reply(text=text, usage=Usage(input_tokens=data["in"], output_tokens=data["out"], requests=1))

    async def aclose(self) -> None:
        pass


@tool
def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"lamp": 40.0}[item]


async def provider(request):  # what is really somebody else's server
    known = "40.0" in (await request.json())["prompt"]
    call = {"type": "tool_call", "tool_name": "price", "tool_args": {"item": "lamp"}}
    word = json.dumps({"type": "final_answer", "answer": "40 dollars."} if known else call)
    return web.Response(text=json.dumps({"word": word}) + "\n" + json.dumps({"in": 9, "out": 4}))


async def main() -> None:
    app = web.Application()
    app.router.add_post("/generate", provider)
    async with test_utils.TestServer(app) as server:
        LineModel.url = str(server.make_url("/generate"))
        result = await Agent(LineModel(), tools=[price]).run("What does the lamp cost?")
    assert (result.answer, result.usage.total_tokens, result.metadata["dialect"]) == ("40 dollars.", 26, "json")


asyncio.run(main())
