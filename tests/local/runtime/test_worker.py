"""A model in a process of its own: this one stays responsive, and neither outlives the other."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from kit import go
from local.child_kit import start
from local.local_kit import GUARD, SECONDS, need_model, short
from treadle._local.model import LocalModel
from treadle._local.runtime.worker import Isolated
from treadle._models.base import complete
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request

pytestmark = [pytest.mark.model, GUARD]


def test_a_process_of_its_own():
    path = short()

    async def main() -> None:
        model = LocalModel(path, n_ctx=512, slots=1, isolated=True)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticker = asyncio.create_task(tick())
        await model.load()
        ticker.cancel()
        assert ticks > 5, "loading in another process must not stop the event loop of this one"
        assert isinstance(model._runtime, Isolated)
        pid = model._runtime._process.pid
        request = Request([UserMessage("Tell me a story.")], stream=True, max_tokens=300)
        stream = model.stream(request)
        await anext(stream)
        await stream.aclose()
        short = await complete(model, request.replace(max_tokens=3))
        assert (short.finish, short.usage.output_tokens) == ("length", 3)
        assert short.usage.cached_tokens > 0
        with pytest.raises(ModelError, match="512"):
            await complete(model, Request([UserMessage("word " * 900)]))

        stream = model.stream(request)
        await anext(stream)
        os.kill(pid, signal.SIGTERM)
        with pytest.raises(TransientModelError, match="connection"):
            async for _ in stream:
                pass
        assert (await complete(model, request.replace(max_tokens=1))).usage.output_tokens == 1
        process = model._runtime._process
        assert process.pid != pid
        await model.aclose()
        # It ends when the last thread that used it has; one that takes more than five seconds to end is killed.
        while process.poll() is None:
            gc.collect()
            await asyncio.sleep(0.05)
        assert process.poll() in (0, -signal.SIGKILL)

    go(main(), SECONDS)


def test_an_isolated_model_that_cannot_be_loaded_says_why(tmp_path: Path):
    need_model()
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + b"\x03\0\0\0" * 20)
    with pytest.raises(ModelError, match=r"bad\.gguf cannot be loaded"):
        go(LocalModel(path, isolated=True).load(), SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent there")
def test_a_killed_parent_leaves_no_worker_behind():
    process = start(
        """
        model = LocalModel(model.address, n_ctx=512, slots=1, isolated=True)
        asyncio.run(model.load())
        print(model._runtime._process.pid, flush=True)
        time.sleep(60)
        """
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.communicate()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker still runs")
