"""A real llama.cpp server, which the package `xllamacpp` brings: the 0.5B model behind it by its address alone answers
what it answers when it is named `llamacpp:`, and is asked as it is in process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from kit import add, go
from treadle import Agent, LocalModel, resolve_model
from treadle._models.contact.recognize import recognize
from treadle._models.local import weights
from treadle._types.errors import ModelError

NAME = "qwen2.5-coder-0.5b"
QUESTIONS = {"What is 2345 + 6789?": "9134", "What is 125 + 725?": "850", "What is the capital of France?": "Paris"}
SECONDS = 1_500.0
"""A guard against hanging only: beside other work the model is many times slower than alone."""
SERVE = """
import sys
from treadle._models.local.runtime import library
params = library().CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup, params.verbosity, params.ui = 4096, 1, False, -1, False
server = library().Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    try:
        path: Path = weights.ensure(NAME)
    except ModelError as error:
        pytest.skip(f"{NAME} cannot be downloaded: {error}")
    with Popen([sys.executable, "-c", SERVE, str(path)], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"{process.stdout.readline().strip()}/v1"
        process.kill()


async def solved(model: Any) -> tuple[list[bool], Any]:
    right: list[bool] = []
    first: Any = None
    for question, wanted in QUESTIONS.items():
        run = Agent(model, [add]).start(question)
        right.append(wanted in (await run).answer.replace(",", ""))
        first = first or run.records[0].event
    return right, first


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_by_its_address_it_solves_what_it_solves_by_its_name(server: str):
    by_address = resolve_model(server)
    right, started = go(solved(by_address), limit=SECONDS)
    named = resolve_model(f"llamacpp:{by_address.name}", base_url=server)
    expected, started_named = go(solved(named), limit=SECONDS)
    assert right == expected
    assert all(right)
    assert (started.dialect, started.system) == (started_named.dialect, started_named.system)
    connection: Any = getattr(by_address, "connection")  # noqa: B009
    contact = go(recognize(connection, named._provider, by_address.name))  # type: ignore[attr-defined]
    assert contact is not None
    assert contact.server == "llamacpp"
    inside = LocalModel(NAME, n_ctx=4096, slots=1, adapter=False)  # the server has the weights alone
    for field in ("json_schema", "grammar", "tiny", "small", "tool_call", "constrained"):
        assert getattr(by_address.profile, field) == getattr(inside.profile, field), field
