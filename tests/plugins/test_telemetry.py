"""Spans and log records of runs: what is in them, how they nest, and that neither costs anything when nobody asked."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plugins.scenes import restarted
from treadle import Agent, DagAgent, McpServer, McpTools, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle._plugins.telemetry import Telemetry
from treadle._types.errors import JournalError, ModelError, TransientModelError
from treadle._types.events import ToolStarted

SECRET = "the secret question"


@tool
async def look_up(what: str) -> str:
    """Look something up."""
    return f"{what}: found"


@tool
async def break_down(what: str) -> str:
    """Always fails."""
    raise ValueError(what)


@pytest.fixture
def traced() -> Any:
    """A provider of our own and what it exported."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


def named(exporter: Any, prefix: str) -> list[Any]:
    return [span for span in exporter.get_finished_spans() if span.name.startswith(prefix)]


def test_a_run_is_a_tree_of_spans(traced: Any):
    provider, exporter = traced
    model = ScriptedModel(
        [[{"name": "look_up", "args": {"what": "a"}}, {"name": "break_down", "args": {"what": "b"}}], "Done."]
    )
    agent = Agent(model, tools=[look_up, break_down], name="clerk", plugins=[Telemetry(provider=provider)])
    result = agent.run_sync(SECRET, conversation="talk-1")
    (run,) = named(exporter, "invoke_agent clerk")
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.conversation.id"] == "talk-1"
    assert run.attributes["treadle.run.id"] == result.run_id
    assert run.attributes["gen_ai.usage.input_tokens"] == result.usage.input_tokens
    assert run.attributes["treadle.stop_reason"] == "answer"
    first, second = named(exporter, "chat scripted")
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert second.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert (
        first.attributes["gen_ai.usage.output_tokens"] + second.attributes["gen_ai.usage.output_tokens"]
        == result.usage.output_tokens
    )
    (good,), (bad,) = named(exporter, "execute_tool look_up"), named(exporter, "execute_tool break_down")
    assert "error.type" not in good.attributes
    assert bad.attributes["error.type"] == "exception"
    assert not bad.status.is_ok
    for child in (first, second, good, bad):
        assert child.parent.span_id == run.context.span_id
        assert run.start_time <= child.start_time <= child.end_time <= run.end_time


def test_no_content_unless_asked(traced: Any):
    provider, exporter = traced
    script = [{"name": "look_up", "args": {"what": SECRET}}, f"About {SECRET}."]
    Agent(ScriptedModel(script), tools=[look_up], plugins=[Telemetry(provider=provider)]).run_sync(SECRET)
    assert len(exporter.get_finished_spans()) == 4
    assert SECRET not in str(
        [(span.name, dict(span.attributes), span.events, span.status) for span in exporter.get_finished_spans()]
    )
    exporter.clear()
    Agent(ScriptedModel(script), tools=[look_up], plugins=[Telemetry(provider=provider, content=True)]).run_sync(SECRET)
    assert SECRET in named(exporter, "execute_tool")[0].attributes["gen_ai.tool.call.arguments"]
    assert SECRET in named(exporter, "execute_tool")[0].attributes["gen_ai.tool.call.result"]
    assert SECRET in named(exporter, "invoke_agent")[0].attributes["gen_ai.input.messages"]


def test_an_agent_inside_an_agent_is_under_its_call(traced: Any):
    provider, exporter = traced
    inner = Agent(ScriptedModel([{"name": "look_up", "args": {"what": "it"}}, "Found."]), tools=[look_up], name="inner")
    order = {"user_prompt": "find", "reasoning": "r", "context": "c"}
    outer = ScriptedModel([{"name": "inner", "args": order}, "Done."])
    Agent(outer, tools=[inner], name="outer", plugins=[Telemetry(provider=provider)]).run_sync("go")
    (call,), (child,) = named(exporter, "execute_tool inner"), named(exporter, "invoke_agent inner")
    assert child.parent.span_id == call.context.span_id
    assert named(exporter, "execute_tool look_up")[0].parent.span_id == child.context.span_id
    assert len(exporter.get_finished_spans()) == 8


def plan_two_steps(request: Any) -> Any:
    """A model for a plan of two steps, one after the other."""
    if request.component == "planner":
        steps = [
            {"id": "a", "task": "do a", "dependencies": []},
            {"id": "b", "task": "do b", "dependencies": ["a"]},
        ]
        return {"name": "make_plan", "args": {"steps": steps}}
    if request.component == "analyzer":
        return {"name": "judge", "args": {"achieved": True, "confidence": 1.0, "final_answer": "Both."}}
    return "done"


def test_steps_of_a_dag_are_under_it(traced: Any):
    provider, exporter = traced
    model = ScriptedModel(plan_two_steps)
    DagAgent(model, tools=[look_up], name="dag", plugins=[Telemetry(provider=provider)]).run_sync("go")
    roots = [span for span in exporter.get_finished_spans() if span.parent is None]
    assert [span.name for span in roots] == ["invoke_agent dag"]
    assert len(named(exporter, "invoke_agent")) == 3


def test_failures_and_attempts(traced: Any):
    provider, exporter = traced
    plain = {"tools": None, "plugins": [Telemetry(provider=provider)], "retry": {"base": 0.001}}
    Agent(ScriptedModel([TransientModelError("busy"), "Fine."]), **plain).run_sync("go")
    assert [event.name for event in named(exporter, "chat")[0].events] == ["treadle.attempt_failed"]
    exporter.clear()
    Agent(ScriptedModel([ModelError("no luck")]), on_error="result", **plain).run_sync("go")
    assert named(exporter, "chat")[0].attributes["error.type"] == "model_error"
    assert named(exporter, "invoke_agent")[0].attributes["error.type"] == "ModelError"


async def test_a_cancelled_run_leaves_no_open_span(traced: Any):
    provider, exporter = traced
    waiting = asyncio.Event()

    @tool
    async def wait() -> str:
        """Waits."""
        waiting.set()
        await asyncio.Event().wait()
        return ""

    run = Agent(
        ScriptedModel([{"name": "wait", "args": {}}]), tools=[wait], plugins=[Telemetry(provider=provider)]
    ).start("go")
    await waiting.wait()
    run.cancel()
    await run
    assert named(exporter, "invoke_agent")[0].attributes["treadle.stop_reason"] == "cancelled"
    assert named(exporter, "execute_tool")[0].attributes["error.type"] == "unknown_outcome"


def test_a_paused_run_ends_its_span_and_begins_another(traced: Any):
    provider, exporter = traced
    paid: list[int] = []

    @tool(approval="ask")
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    agent = Agent(
        ScriptedModel([{"name": "pay", "args": {"amount": 5}, "id": "c1"}, "Paid."]),
        tools=[pay],
        plugins=[Telemetry(provider=provider)],
    )
    paused = agent.run_sync("pay")
    agent.resume_sync(paused.run_id, approve={"c1": True})
    assert paid == [5]
    first, second = named(exporter, "invoke_agent")
    assert first.attributes["treadle.stop_reason"] == "paused"
    assert second.attributes["treadle.resumed"] is True
    assert second.attributes["treadle.stop_reason"] == "answer"


def test_spans_do_not_make_models_stream(traced: Any):
    provider, _ = traced
    asked: list[bool] = []

    def think(request: Any) -> Any:
        asked.append(request.stream)
        return "brief"

    Agent(ScriptedModel(think), tools=[look_up], preset="two_phase", plugins=[Telemetry(provider=provider)]).run_sync(
        "go"
    )
    assert asked
    assert not any(asked)


def test_spans_can_be_turned_off_for_an_agent(traced: Any):
    provider, exporter = traced
    Agent(ScriptedModel(["hello"]), tools=None, plugins=[Telemetry(provider=provider, spans=False)]).run_sync("hi")
    assert exporter.get_finished_spans() == ()


class FullDisk(MemoryJournal):
    """Stores so many batches, then none."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.left = batches

    async def append(self, records: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise JournalError("the disk is full")
        await super().append(records)


@pytest.mark.parametrize("batches", [1, 2, 3])
async def test_a_run_whose_journal_fails_leaves_no_open_span(traced: Any, batches: int):
    provider, exporter = traced
    model = ScriptedModel([{"name": "look_up", "args": {"what": "a"}}, "Done."])
    agent = Agent(model, tools=[look_up], plugins=[Telemetry(provider=provider)], journal=FullDisk(batches))
    run = agent.start("go")
    with pytest.raises(JournalError):
        await run
    assert len(named(exporter, "invoke_agent")) == 1


async def test_a_call_that_began_before_a_crash_has_no_span_of_its_own(traced: Any):
    """Its start is in the trace of the process that died."""
    provider, exporter = traced
    look_up_again = look_up.replace(effect="pure")
    script = [{"name": "look_up", "args": {"what": "a"}}, "Done."]
    run = Agent(ScriptedModel(script), tools=[look_up_again]).start("go")
    await run
    started = next(record.seq for record in run.records if isinstance(record.event, ToolStarted))
    agent = Agent(ScriptedModel(["Done."]), tools=[look_up_again], plugins=[Telemetry(provider=provider)])
    assert (await (await restarted(agent, run, started + 1))).answer == "Done."
    (run,) = named(exporter, "invoke_agent")
    assert run.attributes["treadle.resumed"] is True
    assert len(named(exporter, "chat")) == 1
    assert {span.name for span in exporter.get_finished_spans()} <= {
        "invoke_agent agent", "chat scripted", "execute_tool look_up",
    }  # fmt: skip


PROGRAM = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from treadle import Agent, ScriptedModel
exporter = InMemorySpanExporter()
Agent(ScriptedModel(["hello"]), tools=None).run_sync("hi")
assert not exporter.get_finished_spans()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with trace.get_tracer("mine").start_as_current_span("mine") as mine:
    import asyncio
    asyncio.run(Agent(ScriptedModel(["hello"]), tools=None).run("hi"))
run, = [span for span in exporter.get_finished_spans() if span.name == "invoke_agent agent"]
assert run.parent.span_id == mine.get_span_context().span_id
"""


def test_every_agent_is_traced_once_a_provider_is_set_up():
    pytest.importorskip("opentelemetry.sdk")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_nothing_is_imported_and_nobody_listens_when_not_in_use():
    program = (
        "import sys; from treadle import Agent, ScriptedModel; import asyncio\n"
        "async def main():\n"
        "    run = Agent(ScriptedModel(['hello']), tools=None).start('hi')\n"
        "    assert not run._execution.log._sinks\n"
        "    await run\n"
        "asyncio.run(main())\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_log_records_have_structure(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "treadle")
    model = ScriptedModel([{"name": "look_up", "args": {"what": SECRET}}, f"About {SECRET}."])
    result = Agent(model, tools=[look_up]).run_sync(SECRET)
    steps = [record for record in caplog.records if record.name == "treadle"]
    assert [record.msg % record.args for record in steps if "tool" in vars(record)]
    (step,) = [vars(record) for record in steps if "tool" in vars(record)]
    assert (step["run"], step["iteration"], step["tool"], step["error"]) == (result.run_id, 1, "look_up", "")
    assert step["elapsed"] >= 0
    assert [vars(record)["stop_reason"] for record in steps if "stop_reason" in vars(record)] == ["answer"]
    assert SECRET not in caplog.text


def test_failed_attempts_pauses_and_steps_of_a_plan_are_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "treadle")
    Agent(ScriptedModel([TransientModelError("busy"), "Fine."]), tools=None, retry={"base": 0.001}).run_sync("go")
    (failed,) = [vars(record) for record in caplog.records if record.getMessage().startswith("model call failed")]
    assert (failed["component"], failed["attempt"], failed["error"]) == ("loop", 1, "busy")

    @tool(approval="ask")
    async def pay() -> str:
        """Pay."""
        return "paid"

    Agent(ScriptedModel([{"name": "pay", "args": {}}]), tools=[pay]).run_sync("go")
    (paused,) = [vars(record) for record in caplog.records if record.getMessage().startswith("run paused")]
    assert "pay" in paused["reason"]

    DagAgent(ScriptedModel(plan_two_steps), tools=[look_up]).run_sync("go")
    steps = [vars(record) for record in caplog.records if record.getMessage().startswith("step finished")]
    assert [(step["step"], step["status"]) for step in steps] == [("a", "completed"), ("b", "completed")]


# ---- the conventions, as the package of their names has them


def conventions() -> tuple[set[str], set[str]]:
    """The attributes of the GenAI conventions: those that hold, and those that are deprecated."""
    module = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    source = Path(module.__file__ or "").read_text()
    found = re.findall(r'^GEN_AI\w+: Final = "([\w.]+)"\n"""\n(.*?)"""', source, re.MULTILINE | re.DOTALL)
    # The conventions have a repository of their own now: to this package, what still holds there has "moved".
    old = {name for name, told in found if told.startswith("Deprecated") and not told.startswith("Deprecated: Moved")}
    return {name for name, _ in found} - old, old


def test_every_attribute_is_one_of_the_conventions_and_none_is_deprecated(traced: Any):
    current, old = conventions()
    assert {"gen_ai.system", "gen_ai.prompt"} <= old, "the package says what is deprecated"
    provider, exporter = traced
    script = [[{"name": "look_up", "args": {"what": "a"}}, {"name": "break_down", "args": {"what": "b"}}], "Done."]
    plugin = Telemetry(provider=provider, content=True)
    agent = Agent(ScriptedModel(script), [look_up, break_down], name="clerk", plugins=[plugin], temperature=0.5)
    agent.run_sync("Look.", conversation="c1")
    ours = {name for span in exporter.get_finished_spans() for name in span.attributes}
    outside = {"error.type"}
    assert {name for name in ours if not name.startswith("treadle.")} - current - outside == set()
    assert len(ours & current) >= 15
    from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import GenAiOperationNameValues

    known = {value.value for value in GenAiOperationNameValues}
    for span in exporter.get_finished_spans():
        operation = span.attributes["gen_ai.operation.name"]
        assert operation in known
        assert span.name.startswith(f"{operation} "), "the name of a span is its operation and what it is about"
        assert span.kind.name == ("CLIENT" if operation == "chat" else "INTERNAL")


def test_messages_have_the_shape_of_the_conventions(traced: Any):
    provider, exporter = traced
    agent = Agent(ScriptedModel(["Done."]), None, plugins=[Telemetry(provider=provider, content=True)])
    agent.run_sync("Go.")
    [asked] = json.loads(named(exporter, "invoke_agent")[0].attributes["gen_ai.input.messages"])
    assert asked == {"role": "user", "parts": [{"type": "text", "content": "Go."}]}
    [said] = json.loads(named(exporter, "chat")[0].attributes["gen_ai.output.messages"])
    assert said == {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}


def test_providers_have_the_names_of_the_conventions():
    from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import GenAiProviderNameValues

    from treadle._models.catalog.providers import PROVIDERS
    from treadle._plugins.telemetry import _PROVIDERS

    known = {value.value for value in GenAiProviderNameValues}
    assert set(_PROVIDERS.values()) <= known
    ours = set(PROVIDERS)
    ends = {value.rpartition(".")[2].removesuffix("_ai").removeprefix("x_") for value in known}
    wrong = {name for name in ours if name in ends and _PROVIDERS.get(name, name) not in known}
    assert not wrong, "a provider that the conventions name has another name here"


def test_the_warnings_of_a_run_say_which(caplog: Any):
    pytest.importorskip("mcp")

    @tool
    def broken() -> str:
        """Fails."""
        raise RuntimeError("boom")

    @tool
    def inner() -> str:
        """Another run, which fails in the same way."""
        inside.append(Agent(ScriptedModel([{"name": "broken", "args": {}}, "no"]), [broken]).run_sync("?").run_id)
        return "done"

    inside: list[str] = []
    caplog.set_level(logging.INFO, "treadle")
    shop = McpTools(McpServer("shop", url="http://127.0.0.1:9/mcp"))
    calls = [{"name": "inner", "args": {}}, {"name": "broken", "args": {}}, "Done."]
    result = Agent(ScriptedModel(calls), [broken, inner], plugins=[shop]).run_sync("Look.")
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    for said, run in (("'shop' cannot be reached", [result.run_id]), ("failed in run", [*inside, result.run_id])):
        assert [getattr(record, "run", None) for record in warnings if said in record.getMessage()] == run
    assert all(getattr(record, "run", None) for record in caplog.records if record.name.startswith("treadle"))
    logging.getLogger("treadle").info("outside")
    assert not hasattr(caplog.records[-1], "run")
