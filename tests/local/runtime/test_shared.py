"""A model is loaded once per process; processes that exit, are interrupted or fork end cleanly."""

from __future__ import annotations

import gc
import os
import signal
import sys
import weakref

import pytest

from kit import go
from local.child_kit import ended, start
from local.local_kit import GUARD, SECONDS, short
from treadle._local.model import LocalModel
from treadle._models.base import complete
from treadle._types.messages import UserMessage
from treadle._types.request import Request

pytestmark = [pytest.mark.model, GUARD]


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
    path = short()

    async def main() -> None:
        first, second = (LocalModel(path, n_ctx=512, slots=1) for _ in range(2))
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
