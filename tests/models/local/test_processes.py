"""Processes with a model: they exit while it runs, are interrupted, fork, or run it for another process."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path

import pytest

from kit import go
from models.local.local_kit import GUARD, SECONDS, SMALL, need_model
from processes import interruptible
from treadle._models.base import complete
from treadle._models.local import weights
from treadle._models.local.model import LocalModel
from treadle._models.local.worker import Isolated
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request

pytestmark = [pytest.mark.model, GUARD]
SOURCE = Path(weights.__file__).parents[3]
HEAD = f"""
import asyncio, os, sys, threading, time
from treadle._models.base import complete
from treadle._models.local.model import LocalModel
from treadle._types.errors import ModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request
model = LocalModel({SMALL!r}, n_ctx=512, slots=1)
def ask(text, **more): return Request([UserMessage(text)], **more)
async def begin():
    stream = model.stream(ask("Tell me a long story.", stream=True, max_tokens=400))
    await anext(stream)
    print("begun", flush=True)
    return stream
"""


def start(code: str) -> subprocess.Popen[str]:
    need_model()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", HEAD + textwrap.dedent(code)]
    with interruptible():
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], within: float = SECONDS) -> tuple[int, str]:
    try:
        out, errors = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert "Fatal" not in errors, errors
    assert "terminate" not in errors, errors
    return process.returncode, out


def test_exit_in_the_middle_of_a_reply():
    code, out = ended(start("asyncio.run(begin())"))
    assert (code, out) == (0, "begun\n")


def test_exit_while_another_thread_runs_the_model():
    process = start(
        """
        begun = threading.Event()
        async def main():
            kept = await begin()
            begun.set()
            async for _ in kept: pass
            print("complete", flush=True)
        threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
        begun.wait()
        sys.exit(3)
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    code, rest = ended(process)
    assert (code, rest) == (3, ""), "it does not wait for the end of the reply"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent there")
def test_interrupt_ends_it_at_once():
    process = start(
        """
        async def main():
            async for _ in await begin(): pass
            print("complete", flush=True)
        asyncio.run(main())
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    code, rest = ended(process)
    assert code != 0
    assert rest == "", "it does not wait for the end of the reply"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_forked_child_ends_cleanly_and_the_parent_continues():
    code, out = ended(
        start(
            """
            asyncio.run(model.load())
            child = os.fork()
            if not child:
                try:
                    asyncio.run(complete(model, ask("hi", max_tokens=1)))
                except ModelError as error:
                    sys.exit(7 if "spawn" in str(error) else 8)
                sys.exit(9)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(status, asyncio.run(complete(model, ask("hi", max_tokens=1))).usage.output_tokens)
            """
        )
    )
    assert (code, out) == (0, "7 1\n")


def test_the_last_to_close_frees_the_model():
    need_model()

    async def main() -> None:
        first, second = (LocalModel(SMALL, n_ctx=512, slots=1) for _ in range(2))
        await first.load()
        await second.load()
        assert first._runtime is second._runtime
        assert first._runtime is not None
        runtime = weakref.ref(first._runtime)
        await first.aclose()
        gc.collect()
        assert runtime() is not None
        await second.aclose()
        gc.collect()
        assert runtime() is None
        # A closed model is loaded again when it is used again.
        assert (await complete(first, Request([UserMessage("hi")], max_tokens=1))).usage.output_tokens == 1
        await first.aclose()

    go(main(), SECONDS)


def test_a_process_of_its_own():
    need_model()

    async def main() -> None:
        model = LocalModel(SMALL, n_ctx=512, slots=1, isolated=True)
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
        model = LocalModel("smollm2-135m", n_ctx=512, slots=1, isolated=True)
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
