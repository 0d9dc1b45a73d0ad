"""What is read before there is a question: the first request that begins with it does not read it again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from local.local_kit import GUARD, short
from treadle._local.model import LocalModel
from treadle._local.runtime.worker import Isolated
from treadle._models.base import complete
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.request import OutputFormat, Request

pytestmark = [pytest.mark.model, GUARD]
RULES = "You answer questions about colours. " * 18


@pytest.mark.parametrize(("isolated", "format"), [(False, OutputFormat("json")), (True, None)])
def test_the_system_prompt_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: bool, format: OutputFormat | None
):
    path = short()
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    question = Request([SystemMessage(RULES), UserMessage("Name a colour.")], max_tokens=8)

    async def main() -> None:
        model = LocalModel(path, n_ctx=1024, slots=2)
        if isolated:
            model.isolate()
        await model.read_ahead(Request([SystemMessage(RULES)], format=format))
        assert isinstance(model._runtime, Isolated) is isolated
        (file,) = (tmp_path / "prompts").iterdir()
        file.unlink()  # the slot has it, whatever is on the disk
        reply = await complete(model, question)
        assert reply.usage.cached_tokens > 0.8 * reply.usage.input_tokens
        assert list((tmp_path / "prompts").iterdir()) == [], "it was not read, so there was nothing to keep"
        other = LocalModel(path, n_ctx=1024, slots=2, isolated=isolated, keep_prompts=False)
        assert (await complete(other, question)).text == reply.text
        await model.aclose()
        await other.aclose()

    asyncio.run(main())


def test_a_prompt_that_is_too_short_to_keep_only_loads_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = short()
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))

    async def main() -> None:
        model = LocalModel(path, n_ctx=512, slots=1)
        await model.read_ahead(Request([SystemMessage("Be short.")]))
        assert model._runtime is not None
        model.isolate()
        assert not model._options.isolated, "it is loaded already"
        assert list((tmp_path / "prompts").iterdir()) == []
        await model.aclose()

    asyncio.run(main())
