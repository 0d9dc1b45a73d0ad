"""A real llama.cpp server, which the package `xllamacpp` brings: the 0.5B model behind it by its address alone answers
what it answers when it is named `llamacpp:`, and is asked as it is in process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from kit import add, go
from local.local_kit import SMALL, need_model, sensible
from treadle import Agent, LocalModel, ToolResponse, resolve_model, tool
from treadle._local.weights import weights
from treadle._local.weights.adapters import TAUGHT, unpacked
from treadle._models.base import complete, meet
from treadle._models.contact.recognize import recognize
from treadle._types.errors import ModelError
from treadle._types.messages import UserMessage
from treadle._types.request import OutputFormat, Reply, Request

NAME = "qwen2.5-coder-0.5b"
QUESTIONS = {"What is 2345 + 6789?": "9134", "What is 125 + 725?": "850", "What is the capital of France?": "Paris"}
SECONDS = 1_500.0
"""A guard against hanging only: beside other work the model is many times slower than alone."""
SERVE = """
import sys
from treadle._local.runtime.runtime import library
params = library().CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup, params.verbosity, params.ui = 4096, 1, False, -1, False
params.fit_params = False  # it would load the model twice
if len(sys.argv) > 2:
    adapter = library().CommonAdapterLoraInfo()
    adapter.path, adapter.scale = sys.argv[2], 1.0
    params.lora_adapters = [adapter]
server = library().Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def served(path: Path, *adapter: str) -> Iterator[str]:
    with Popen([sys.executable, "-c", SERVE, str(path), *adapter], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"{process.stdout.readline().strip()}/v1"
        process.kill()


@pytest.fixture(scope="module")
def file() -> Path:
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    try:
        return weights.ensure(NAME)
    except ModelError as error:
        pytest.skip(f"{NAME} cannot be downloaded: {error}")


@pytest.fixture(scope="module")
def server(file: Path) -> Iterator[str]:
    with served(file) as address:
        yield address


@pytest.fixture(scope="module")
def tuned(file: Path) -> Iterator[str]:
    """A server with our adapter."""
    with served(file, unpacked(TAUGHT[NAME])) as address:
        yield address


async def solved(model: Any) -> tuple[list[bool], Any]:
    right: list[bool] = []
    first: Any = None
    for question, wanted in QUESTIONS.items():
        run = Agent(model, [add]).start(question)
        right.append(wanted in (await run).answer.replace(",", ""))
        first = first or run.records[0].event
    return right, first


@pytest.mark.long  # three runs by each way; the tests below are quicker
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


@tool(name="add", effect="pure")
def add_and_end(a: int, b: int) -> ToolResponse:
    """Add two numbers."""
    return ToolResponse(str(a + b), final_answer=True)


async def asked(model: Any, question: str, called: Any = add) -> tuple[str, list[Any], str]:
    result = await Agent(model, [called]).run(question)
    return result.answer, [(step.tool, step.args) for step in result.steps], str(result.metadata["dialect"])


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_with_our_adapter_it_is_asked_as_it_was_trained(tuned: str):
    outside = resolve_model(tuned)
    # The result is the answer: a second round would take as long.
    answer, calls, dialect = go(asked(outside, "What is 2345 + 6789?", add_and_end), limit=SECONDS)
    assert "9134" in answer.replace(",", "")
    assert calls == [("add", {"a": 2345, "b": 6789})]
    assert dialect == "compact"
    assert outside.profile.adapter == LocalModel(NAME).profile.adapter


@pytest.mark.long  # two models, two questions to each
@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_with_our_adapter_it_answers_as_in_process(tuned: str):
    """The same calls and the same answer; without a tool the words are those of the model without the adapter."""
    outside, inside = resolve_model(tuned), LocalModel(NAME, n_ctx=4096, slots=1)
    for question in ("What is 2345 + 6789?", "What is the capital of France?"):
        assert go(asked(outside, question), limit=SECONDS) == go(asked(inside, question), limit=SECONDS)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_a_server_tells_what_the_model_wants_before_the_constraint():
    only = {"type": "object", "properties": {"action": {"const": "zebra"}}, "required": ["action"]}
    request = Request(
        [UserMessage('Reply with {"action": "hello"} and nothing else.')],
        format=OutputFormat("schema", only),
        decision_after='"action": "',
        temperature=0.0,
    )
    need_model()
    with served(weights.ensure(SMALL)) as address:

        async def main() -> tuple[Reply, Reply]:
            outside = resolve_model(address)
            await meet(outside)
            return await complete(outside, request), await complete(sensible(), request)

        outside, inside = go(main(), limit=SECONDS)
    assert max(outside.options, key=outside.options.__getitem__) == max(inside.options, key=inside.options.__getitem__)
    for text, share in inside.options.items():
        assert outside.options.get(text, 0.0) == pytest.approx(share, abs=0.1)
