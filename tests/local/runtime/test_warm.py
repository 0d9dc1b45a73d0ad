"""A model that stays loaded: one process after the other uses it, it ends when nobody does."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kit import go
from local.local_kit import GUARD, SECONDS, short
from treadle._local.model import LocalModel
from treadle._local.runtime import lease as leases
from treadle._local.runtime.warm import Warm
from treadle._local.runtime.worker import Isolated
from treadle._models.base import complete
from treadle._types.messages import UserMessage
from treadle._types.request import Request
from waiting import eventually

QUESTION = Request([UserMessage("Tell me a story.")], max_tokens=2)


def warm(seconds: float = 60.0) -> LocalModel:
    model = LocalModel(short(), n_ctx=512, slots=1)
    model.isolate(seconds)
    return model


async def asked(model: LocalModel) -> Warm | Isolated:
    assert (await complete(model, QUESTION)).usage.output_tokens == 2
    assert isinstance(model._runtime, (Warm, Isolated))
    return model._runtime


def worker_of(runtime: Warm | Isolated) -> int:
    """The process that listens at its port."""
    port = f"{runtime._address[1]:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    [inode] = [row[9] for row in rows if row[1].endswith(f":{port}") and row[3] == "0A"]
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(os.readlink(link) == f"socket:[{inode}]" for link in folder.iterdir()):
                return int(folder.parent.name)
        except OSError:
            continue
    raise AssertionError("nobody listens")


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.model
@GUARD
def test_it_is_used_again_by_one_at_a_time_survives_a_kill_and_is_ended_by_a_command():
    async def main() -> None:
        first = await asked(warm())
        assert isinstance(first, Warm)
        worker = worker_of(first)
        busy = await asked(other := warm())
        assert busy is first, "one process loads a model once"
        first.close()  # as at the end of a process
        second = await asked(warm())
        assert worker_of(second) == worker
        lease = next(leases.leases().glob("*.json"))
        assert lease.stat().st_mode & 0o77 == 0, "the key is for this user alone"
        assert leases.end_all() == 0, "it is in use"
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: not is_alive(worker), "it is gone")
        second.close()
        third = await asked(other)
        assert isinstance(third, Warm)
        assert worker_of(third) != worker, "the file of one that was killed leads nowhere"
        third.close()
        worker = worker_of(third)
        assert leases.end_all() == 1
        eventually(lambda: not is_alive(worker), "the command ends it")

    go(main(), SECONDS)


@pytest.mark.model
@GUARD
def test_it_ends_when_nobody_uses_it():
    async def main() -> int:
        runtime = await asked(warm(0.3))
        worker = worker_of(runtime)
        runtime.close()
        return worker

    worker = go(main(), SECONDS)
    eventually(lambda: not is_alive(worker), "it ends by itself")
    assert list(leases.leases().glob("*.json")) == []
