"""Hybrid retrieval with the embeddings of a provider, over a loopback server that speaks the real protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit import go
from treadle import Agent, ScriptedModel
from treadle._models.openai.embeddings import Embeddings
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase, retrieval
from treadle._types.errors import BadReplyError, RequestRefusedError

WORDS = {"ship": (1.0, 0.0), "boat": (0.9, 0.1), "bread": (0.0, 1.0)}


def vector(text: str) -> list[float]:
    return list(next((v for word, v in WORDS.items() if word in text.lower()), (0.5, 0.5)))


async def serve(handler: Any) -> tuple[web.AppRunner, str]:
    app = web.Application()
    app.router.add_post("/v1/embeddings", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


def test_words_and_meaning_are_searched_together(tmp_path: Path):
    asked: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body)
        rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(body["input"])]
        return web.json_response({"data": list(reversed(rows)), "model": body["model"]})

    async def main() -> None:
        runner, url = await serve(handler)
        base = KnowledgeBase(tmp_path / "kb.db")
        base.add("The ship left the harbour.", name="sea")
        base.add("The bread is in the oven.", name="kitchen")
        tool = retrieval(tmp_path / "kb.db", k=1, embed=Embeddings("openai:small", base_url=url))
        model = ScriptedModel([{"name": "retrieval", "args": {"query": "boat"}}, "done"])
        result = await Agent(model, [tool]).run("q")
        assert "harbour" in result.steps[0].observation
        assert asked[0]["model"] == "small"
        await runner.cleanup()

    go(main())


@pytest.mark.parametrize(
    ("answer", "error"), [({"data": []}, BadReplyError), ({"nothing": 1}, BadReplyError), (None, RequestRefusedError)]
)
def test_bad_answers_are_typed_errors(answer: Any, error: type[Exception]):
    async def handler(request: web.Request) -> web.Response:
        return (
            web.json_response(answer)
            if answer is not None
            else web.json_response({"error": {"message": "no such model"}}, status=404)
        )

    async def main() -> None:
        runner, url = await serve(handler)
        with pytest.raises(error):
            await Embeddings("openai:small", base_url=url)(["x"])
        await runner.cleanup()

    go(main())
