"""Code mode in whole runs: the preset `code`, calls from code, crashes and approvals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kit import NO_ADVICE, add, fail, go
from treadle import Agent, Artifact, Budget, Plugin, ScriptedModel, ToolResponse, tool
from treadle._journal.memory import MemoryJournal
from treadle._plugins.code import CodeMode
from treadle._plugins.guards.approval import Approval
from treadle._types.errors import ConfigError
from treadle._types.events import Paused, Record, ThinkDone, ToolDone, ToolStarted
from treadle._types.messages import UserMessage

pytest.importorskip("pydantic_monty")
TEXT = {"tool_call": False}
DONE = "<__final_answer__>done</__final_answer__>"


@tool(effect="pure")
async def search(query: str, limit: int = 2) -> dict[str, Any]:
    """Search."""
    return {"query": query, "hits": [f"{query}-{number}" for number in range(limit)]}


SENT: list[str] = []


@tool
async def send_mail(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return f"sent to {to}"


def code(text: str) -> str:
    return f"I shall see.\n```python\n{text}\n```"


def agent(*replies: str, tools: Any = (search, add, fail, send_mail), **options: Any) -> Agent:
    options["plugins"] = [*options.get("plugins", ()), *NO_ADVICE]
    return Agent(ScriptedModel(list(replies), abilities=TEXT), list(tools), preset="code", **options)


GATHER = "import asyncio\nmore = await asyncio.gather(search('a'), search('b'), search('c'))\n"


async def test_a_task_from_code_to_answer():
    made = agent(
        code("r = search('cats', limit=3)\nprint(r['hits'][0])\nadd(1, b=2)"),
        code(GATHER + "len(more) + len(r['hits'])"),
        code("try:\n    fail('x')\nexcept RuntimeError as e:\n    print('failed:', e)"),
        code("final_answer(f'{len(more)} and {len(r[\"hits\"])}')"),
    )
    run = made.start("q")
    result = await run
    assert (result.answer, result.stop_reason) == ("3 and 3", "final_tool")
    assert [step.observation for step in result.steps[:2]] == ["cats-0\n3", "6"]
    assert "failed: Tool 'fail' failed: ValueError: x" in result.steps[2].observation
    inner = [r.event.name for r in run.records if isinstance(r.event, ToolDone) and "." in r.event.call_id]
    assert inner == ["search", "add", "search", "search", "search", "fail"]
    assert result.usage.tool_calls == 10


async def test_calls_that_are_gathered_run_side_by_side():
    together = asyncio.Barrier(3)

    @tool(name="search", effect="pure")
    async def search_together(query: str) -> str:
        """Search; each waits until three are under way."""
        await together.wait()
        return query

    result = await agent(code(GATHER + "final_answer(','.join(more))"), tools=[search_together]).run("q")
    assert result.answer == "a,b,c"


async def test_results_are_values_texts_stay_texts_and_artifacts_are_kept():
    @tool(effect="pure")
    async def table() -> ToolResponse:
        """Make a table."""
        return ToolResponse("made", artifacts=(Artifact("t.csv", "1,2"),))

    @tool(effect="pure")
    async def pair() -> list[int]:
        """Give two numbers."""
        return [1, 2]

    @tool(effect="pure")
    async def quoted() -> str:
        """Give a text in quotes."""
        return '"7"'

    script = code("p = pair()\nfinal_answer(x=[table()[:4], p[1] + 1, quoted()])")
    run = agent(script, tools=[table, pair, quoted]).start("q")
    result = await run
    assert result.answer == '["made",3,"\\"7\\""]'
    (python,) = [r.event for r in run.records if isinstance(r.event, ToolDone) and r.event.name == "python"]
    assert [artifact.name for artifact in python.artifacts] == ["t.csv"]


def test_the_tool_stays_when_it_is_offered_already():
    first = code("x = 1\nx")
    result = go(Agent(ScriptedModel([first, DONE], abilities=TEXT), [add], preset="code", plugins=NO_ADVICE).run("q"))
    assert (result.answer, result.steps[0].observation) == ("done", "1")


def test_prose_is_an_answer_only_where_it_is_marked_as_one():
    result = go(agent("<__final_answer__>Paris</__final_answer__>").run("Capital of France?"))
    assert (result.answer, result.iterations, result.success) == ("Paris", 1, True)
    result = go(agent("I will read the file and sum it.", "```python\n```", code("final_answer(3)")).run("q"))
    assert (result.answer, result.stop_reason, result.success) == ("3", "final_tool", True)
    model = ScriptedModel(["I will look it up."], repeat_last=True, abilities=TEXT)
    result = go(Agent(model, [add], preset="code", plugins=NO_ADVICE).run("q"))
    assert (result.answer, result.success, len(model.requests)) == ("I will look it up.", False, 3)
    assert "neither an action nor a marked answer" in str(model.requests[1].messages[-1])


@pytest.mark.parametrize(
    "reply",
    [
        "print(add(1, 2))",
        "Let me add.\nx = add(1, 2)\nprint(x)",
        '{"thought": "I add.", "code": "print(add(1, 2))"}',
        '```json\n{"thought": "I add.", "code": "```python\\nprint(add(1, 2))\\n```"}\n```',
    ],
)
def test_code_without_a_fence_and_in_an_object_runs(reply: str):
    result = go(agent(reply, DONE).run("q"))
    assert [step.observation for step in result.steps] == ["3"]


PAID: list[int] = []


@tool
async def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return "paid"


@pytest.mark.parametrize(
    "program",
    [
        "final_answer('a')\npay(1)",
        "try:\n    final_answer('a')\nexcept Exception:\n    pay(2)\npay(3)",
        "try:\n    final_answer('a')\nexcept BaseException:\n    pay(4)",
        "def done():\n    final_answer('a')\ndone()\nfinal_answer('b')",
    ],
)
def test_nothing_runs_after_the_final_answer(program: str):
    PAID.clear()
    result = go(agent(code(program), tools=[pay]).run("q"))
    assert (result.answer, result.stop_reason, PAID) == ("a", "final_tool", [])


def test_a_final_answer_says_whether_the_task_was_done_and_has_a_value():
    result = go(agent(code("final_answer('cannot', task_successful=False)")).run("q"))
    assert (result.answer, result.success, result.task_successful) == ("cannot", False, False)
    result = go(agent(code("final_answer()"), code("final_answer(None)"), code("final_answer(7)")).run("q"))
    assert (result.answer, result.iterations, result.success) == ("7", 3, True)
    assert "final_answer() needs the answer" in result.steps[0].observation


@pytest.mark.parametrize(("kind", "program", "value"), [(int, "6 * 7", 42), (dict[str, int], "{'a': 1}", {"a": 1})])
def test_a_final_answer_is_typed_without_another_request(kind: Any, program: str, value: Any):
    result = go(agent(code(f"final_answer({program})"), output_type=kind).run("q"))
    assert (result.output, result.success) == (value, True)


def test_variables_stay_when_a_plug_in_sends_the_run_on_after_the_final_answer():
    class Once(Plugin):
        async def before_finish(self, run: Any, answer: str) -> Any:
            return answer if answer == "second" else UserMessage("Go on.")

    result = go(agent(code("x = 'second'\nfinal_answer('first')"), code("final_answer(x)"), plugins=[Once()]).run("q"))
    assert result.answer == "second"


def test_at_the_limit_the_work_is_salvaged():
    result = go(agent(code("1"), code("2"), max_iterations=2).run("q"))
    assert (result.stop_reason, result.success) == ("limit", False)
    assert "Last result: 2" in result.answer


def test_calls_in_code_are_checked_like_any_other():
    calls = {
        "add('x', 1)": "expected integer",
        "add(1, 2, 3)": "add() takes 2 arguments (a, b), not 3",
        "add(1, a=2)": "add() got a twice",
        "add(1, c=2)": "unknown argument 'c'",
        "add(float('nan'), 1)": "",
        "search(query={1: 2})": "",
        "nope()": "not defined",
    }
    result = go(agent(*map(code, calls), DONE).run("q"))
    for step, said in zip(result.steps, calls.values(), strict=True):
        assert (said in step.observation, step.error) == (True, "exception"), step


def test_the_budget_counts_the_calls_inside():
    many = code("for n in range(10):\n    add(n, n)")
    result = go(agent(many, DONE, budget=Budget(tool_calls=4), on_budget="force_answer").run("q"))
    assert result.usage.tool_calls <= 4
    assert "Not run: the budget" in result.steps[0].observation


async def test_approval_of_a_call_inside_pauses_and_goes_on_without_repeating():
    SENT.clear()
    script = code("a = search('cats')\nprint(send_mail('ann'))\nprint(send_mail('bob'))")
    journal = MemoryJournal()
    tools = [search, send_mail.replace(approval="ask")]
    first = agent(script, tools=tools, plugins=[Approval()], journal=journal)
    run = first.start("q")
    assert (await run).stop_reason == "paused"
    paused = next(r.event for r in reversed(run.records) if isinstance(r.event, Paused))
    assert [(call.name, call.args) for call in paused.calls] == [("send_mail", {"to": "ann"})]
    searches = 0
    result = None
    for person in ("ann", "bob"):
        again = agent("Final answer: all sent", tools=tools, plugins=[Approval()], journal=journal)
        going = await again.load(run.id)
        going.approve(going.state.paused.calls[0].id, True)
        result = await again.launch(going)
        searches = sum(isinstance(r.event, ToolStarted) and r.event.call.name == "search" for r in going.records)
        assert SENT[-1] == person
    assert result.answer == "all sent"
    assert SENT == ["ann", "bob"]
    assert searches == 1


def cut_at(records: list[Record], name: str, where: Any) -> list[Record]:
    last = next(index for index, record in enumerate(records) if where(record.event))
    return [Record(name, r.seq, r.time, r.event) for r in records[: last + 1]]


async def test_variables_come_back_after_a_crash_and_nothing_is_done_twice():
    SENT.clear()
    journal = MemoryJournal()
    replies = [
        code("hits = search('cats')['hits']\nsend_mail('ann')"),
        code("print(len(hits))\nsend_mail('bob')"),
        DONE,
    ]
    run = agent(*replies, journal=journal).start("q")
    await run
    assert SENT == ["ann", "bob"]
    records = list(run.records)
    cases = {
        # Before the second piece of code runs: the first is run again from the log.
        "thought": (lambda e: isinstance(e, ThinkDone) and e.iteration == 2, "2\nsent to bob", ["bob"]),
        # While the second mail is sent: nobody knows whether it was.
        "sending": (
            lambda e: isinstance(e, ToolStarted) and e.call.id == "call_2_0.0",
            "outcome of this call of 'send_mail' is unknown",
            [],
        ),
        # After it was sent, before the code ended: it is not sent again.
        "sent": (lambda e: isinstance(e, ToolDone) and e.call_id == "call_2_0.0", "2\nsent to bob", []),
    }
    for name, (where, says, sent) in cases.items():
        SENT.clear()
        await journal.append(cut_at(records, name, where))
        result = await agent(DONE, journal=journal).resume(name)
        assert result.answer == "done"
        assert says in result.steps[1].observation, name
        assert sent == SENT, name


def test_a_tool_whose_result_is_the_answer_ends_the_run_from_code():
    @tool
    async def deliver(what: str) -> ToolResponse:
        """Give the user the answer."""
        return ToolResponse(f"Here is the {what}.", final_answer=True)

    result = go(agent(code("print(deliver('parcel'))"), "never", tools=[deliver]).run("q"))
    assert (result.answer, result.stop_reason, result.success) == ("Here is the parcel.", "final_tool", True)


async def test_a_call_from_code_that_is_cancelled_has_its_end_in_the_log():
    reached = asyncio.Event()

    @tool
    async def stuck() -> str:
        """Never end."""
        reached.set()
        await asyncio.Event().wait()
        return "never"

    run = agent(code("stuck()"), tools=[stuck]).start("q")
    await reached.wait()
    run.cancel()
    assert (await run).stop_reason == "cancelled"
    started = [record.event.call.id for record in run.records if isinstance(record.event, ToolStarted)]
    done = [(r.event.call_id, r.event.error) for r in run.records if isinstance(r.event, ToolDone)]
    assert len(started) == 2
    assert done == [(call_id, "unknown_outcome") for call_id in reversed(started)]


def test_calls_from_code_are_counted():
    result = go(agent(code("add(1, 2)\nadd(3, 4)\ntry:\n    fail()\nexcept Exception:\n    pass"), DONE).run("q"))
    assert (result.metadata["tool_calls_made"], result.metadata["failed_calls"]) == (4, 1)
    assert result.usage.tool_calls == 4


def test_the_modules_that_code_may_import_are_a_setting():
    result = go(agent(code("import math\nmath.sqrt(4)"), code("import json"), DONE, imports=("math",)).run("q"))
    assert result.steps[0].observation == "2.0"
    assert "importing 'json' is not allowed here. Allowed modules: math." in result.steps[1].observation
    with pytest.raises(ConfigError, match="the sandbox has no module 'numpy'"):
        CodeMode(imports=["numpy"])


def test_planner_and_observer_belong_to_it():
    def reply(request: Any) -> str:
        match request.component:
            case "planner":
                return '{"steps": [{"text": "compute", "done": false}]}'
            case "observer":
                return '{"is_progressing": true, "is_in_loop": false, "reasoning": "fine"}'
            case _:
                turns.append(1)
                return code(f"{len(turns)}") if len(turns) <= 3 else DONE

    turns: list[int] = []
    model = ScriptedModel(reply, abilities=TEXT)
    result = go(Agent(model, [add], preset="code").run("q"))
    assert result.answer == "done"
    asked = [request.component for request in model.requests]
    assert asked[:2] == ["planner", "loop"]
    assert asked.count("planner") == 6  # at the start, after each round, and twice for the answer
    assert asked.count("observer") == 2
    assert [(step.text, step.done) for step in result.plan] == [("compute", False)]
