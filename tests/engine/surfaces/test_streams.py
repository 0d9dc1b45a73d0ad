"""Every stream of a run shows its answer once, as it is written, however the provider cuts it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import add, call, echo, go
from treadle import Agent, Plugin, RepairPolicy, ScriptedModel, ToolResponse, tool
from treadle._engine.surfaces.text_view import CLOSE, OPEN
from treadle._types import events as ev
from treadle._types.request import RawCall, Reply, Request, StreamPart, TextDelta

PLAIN = {"tool_call": False, "json_mode": False, "json_schema": False, "forced_tool": False}


class Cut(ScriptedModel):
    """Streams its replies in pieces that end at given places."""

    def __init__(self, script: Any, cuts: Any = None, **options: Any) -> None:
        super().__init__(script, **options)
        self.cuts = cuts

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        parts = [part async for part in super().stream(request)]
        text = "".join(part.text for part in parts if isinstance(part, TextDelta))
        every = range(1, len(text)) if self.cuts is None else self.cuts
        places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in every)})
        for start, end in pairwise(places):
            yield TextDelta(text[start:end])
        for part in parts:
            if not isinstance(part, TextDelta):
                yield part


ANSWER = 'Hello, it is < 3 & "so".\n\nA list:\n- one\n- two'
REPLIES = {
    "native": [
        ANSWER,
        f"\n {ANSWER}\n\n",
        f"<think>hm</think>\n{ANSWER}",
        f"{ANSWER}<|im_end|>",
        "```python\nx = [1]\n```",
        "[1] is a list",
        "{x} is a set",
    ],
    "json": [
        '{"reasoning": "r", "type": "final_answer", "answer": "Hel\\nlo \\u00e9 \\ud83d\\ude00 \\"x\\"!"}',
        'So: {"type": "final_answer", "answer": " Hi "}',
    ],
    "array": ['[{"name": "__complete_task__", "arguments": {"answer": "Hello\\tthere"}}]'],
    "schema": ['{"thought": "t", "action": "final_answer", "final_answer": "Hello", "task_successful": true}'],
    "direct": ['{"action": "final_answer", "final_answer": "Hello", "task_successful": true}'],
    "brief": ['{"from": "result", "final_answer": "Hello \\\\ there"}'],
    "action": [
        f"<__final_answer__>\n{ANSWER}\n</__final_answer__>",
        f"I know it.\n<__final_answer__>\n{ANSWER}\n</__final_answer__>\n",
        f"<final_answer>{ANSWER}</final_answer>",
        ANSWER,
        f"Final Answer: {ANSWER}",
        f"Thought: I know.\n**Final Answer:** {ANSWER}\n",
        f"Thought: {ANSWER}",
        "Actions speak louder.\nFinally: act.",
    ],
    "code": [
        f"I know it.\n<__final_answer__>{ANSWER}</__final_answer__>",
        ANSWER,
        "Use this:\n```json\n{}\n```\nand that",
    ],
}  # fmt: skip
CASES = [(dialect, text) for dialect, texts in REPLIES.items() for text in texts]


def events_of(agent: Agent, **options: Any) -> list[Any]:
    async def main() -> list[Any]:
        return [event async for event in agent.stream("q", **options)]

    return go(main())


def concatenated(events: list[Any]) -> str:
    text = ""
    for event in events:
        if isinstance(event, ev.AnswerDelta):
            text += event.text
        elif isinstance(event, ev.AnswerRetracted | ev.Reset):
            text = ""
    return text


def agent_for(dialect: str, script: list[Any], cuts: Any = None, **options: Any) -> Agent:
    return Agent(Cut(script, cuts, abilities={} if dialect == "native" else PLAIN), [echo], dialect=dialect, **options)


@pytest.mark.parametrize(("dialect", "text"), CASES)
def test_the_answer_streams_as_it_is_written_in_every_dialect(dialect: str, text: str):
    for size in (1, 2, 3, 5, 7, 11, 1000):
        events = events_of(agent_for(dialect, [text], range(0, len(text), size)))
        answer = next(event.text for event in events if isinstance(event, ev.AnswerDone))
        assert concatenated(events) == answer
        assert not any(isinstance(event, ev.Reset) for event in events), "nothing wrong was shown on the way"
        before = events.index(next(event for event in events if isinstance(event, ev.ThinkDone)))
        streamed = [event for event in events[:before] if isinstance(event, ev.AnswerDelta)]
        if size == 1 and text[0] not in "[{":
            assert len(streamed) > len(answer) // 3, "it streams while it is written"


@pytest.mark.parametrize(("dialect", "text"), CASES)
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(0, 500), max_size=12))
def test_every_surface_gives_the_answer_once_however_it_is_cut(dialect: str, text: str, cuts: list[int]):
    agent = agent_for(dialect, [text] * 4, cuts)

    async def joined(provisional: bool) -> str:
        return "".join([piece async for piece, _ in agent.deltas("q", provisional=provisional)])

    answer = agent.run_sync("q").answer
    alone = "I know it" not in text and "Thought: I know" not in text
    if alone:
        assert go(joined(True)) == answer
    else:
        assert go(joined(True)).endswith(answer)
    assert go(joined(False)) == answer
    shown = "".join(agent.text("q"))
    assert shown.count(answer) == 1
    assert shown.endswith(answer)


@pytest.mark.parametrize("text", REPLIES["action"])
def test_between_markers_stands_the_answer_whatever_the_model_wrote(text: str):
    for size in (1, 4, 1000):
        once = RepairPolicy(max_parse=0)  # what is not marked as an answer is one all the same
        agent = agent_for("action", [text] * 2, range(0, len(text), size), preset="streaming", repair=once)
        answer = agent.run_sync("q").answer
        shown = "".join(agent.text("q"))
        assert shown.count(OPEN) == 1
        assert shown.endswith(f"{OPEN}{answer}{CLOSE}")


def test_a_thought_before_a_marked_answer_is_shown_at_once():
    model = ScriptedModel(["I look at tea.\n<__final_answer__>12 euro</__final_answer__>"], chunk=6)
    pieces = [*Agent(model, [echo], preset="streaming").text("q")]
    assert pieces[0] == "I look"
    assert "".join(pieces) == f"I look at tea.\n{OPEN}12 euro{CLOSE}"


@pytest.mark.parametrize(("markers", "times"), [(True, 2), (False, 1)])
def test_a_repaired_answer_is_shown_once_beside_the_thought_it_was_taken_for(markers: bool, times: int):
    repair = RepairPolicy(max_parse=2, separate_call=True, counts_as_iteration=False, missing=True)
    agent = Agent(ScriptedModel(["Tea costs 12."] * 3, chunk=6), [echo], preset="streaming", repair=repair)
    shown = "".join(agent.text("q", skip_special_tokens=not markers))
    assert shown.count("Tea costs 12.") == times


@pytest.mark.parametrize(
    ("replies", "shown"),
    [
        (["Tea costs 12."], "Tea costs 12."),
        (["It is 1.", "It is 2.", "It is 3."], "It is 1.\n\nIt is 3."),
        (["It is 1.", f"Yes.\n{OPEN}It is 3.{CLOSE}"], "It is 1.\n\nIt is 3."),
    ],
)
async def test_what_a_repair_writes_is_shown_when_it_is_the_answer(replies: list[str], shown: str):
    for stream in ("stream_text", "deltas"):
        agent = Agent(ScriptedModel(replies, chunk=6, repeat_last=True), [echo], preset="streaming")
        pieces = [piece async for piece in getattr(agent, stream)("q")]
        assert "".join(one if isinstance(one, str) else one[0] for one in pieces) == shown


@pytest.mark.parametrize("last", [True, False])
def test_a_generator_whose_output_is_the_answer_is_shown_once(last: bool):
    @tool
    async def report() -> Any:
        """Report."""
        yield "part one " if last else ToolResponse("part one ", final_answer=True)
        yield ToolResponse("part two", final_answer=True) if last else "part two"

    pieces = [*Agent(ScriptedModel([call("report"), "x"]), [report]).text("q", skip_special_tokens=True)]
    assert "".join(pieces).count("part one part two") == 1
    assert len([piece for piece in pieces if "part" in piece]) == 2, "as it comes"


def test_words_before_a_call_are_retracted_and_moved():
    reply = Reply("Let me add them.", (RawCall("c1", "add", '{"a":1,"b":2}'),), finish="calls")
    agent = Agent(Cut([reply, "It is 3."]), [add])
    events = events_of(agent)
    retracted = [event for event in events if isinstance(event, ev.AnswerRetracted)]
    assert retracted == [ev.AnswerRetracted("Let me add them.")]
    assert concatenated(events) == "It is 3."
    assert all(event.provisional for event in events if isinstance(event, ev.AnswerDelta) and event.text in "Letmadhm.")
    agent = Agent(Cut([reply, "It is 3."] * 3), [add])
    assert "".join(agent.text("q")) == 'Let me add them.\n\n[add] {"a":1,"b":2}\n3\nIt is 3.'

    async def joined(**options: Any) -> str:
        return "".join([piece async for piece, _ in agent.deltas("q", **options)])

    assert go(joined()) == "Let me add them.\n\nIt is 3."
    assert go(joined(provisional=False)) == "It is 3."


def test_the_thought_of_an_action_is_not_left_as_the_answer():
    action = 'I look.\nAction: {"tool": "echo", "inputs": {"text": "x"}}'
    for size in (1, 3, 1000):
        agent = agent_for("action", [action, f"{OPEN}done{CLOSE}"] * 2, range(0, 99, size), preset="streaming")
        events = events_of(agent)
        assert concatenated(events) == "done"
        assert [event.text for event in events if isinstance(event, ev.AnswerRetracted)] == ["I look."]
        assert "".join(agent.text("q")) == f'I look.\n\n[echo] {{"text":"x"}}\nx\n{OPEN}done{CLOSE}'


def test_a_forced_answer_of_a_text_dialect_streams_without_its_syntax():
    call_text = '{"type": "tool_call", "tool_name": "echo", "tool_args": {"text": "x"}}'
    agent = agent_for("json", [call_text, '{"type": "final_answer", "answer": "It is 7."}'], max_iterations=1)
    deltas = [event.text for event in events_of(agent) if isinstance(event, ev.AnswerDelta)]
    assert len(deltas) > 5
    assert "".join(deltas) == "It is 7."


def test_an_answer_in_the_loop_is_no_answer_when_another_call_writes_it():
    agent = Agent(Cut(["brief", "The full answer."]), [echo], answer="synthesize", stream_thoughts=True)
    events = events_of(agent)
    assert "".join(event.text for event in events if isinstance(event, ev.TextStreamed)) == "brief"
    assert concatenated(events) == "The full answer."


def test_the_output_of_a_tool_that_is_the_answer_streams_as_the_answer():
    @tool
    async def write() -> ToolResponse:
        """Write the answer."""

        async def pieces() -> AsyncIterator[str]:
            for word in ("It ", "is ", "3."):
                yield word

        return ToolResponse(pieces(), final_answer=True)

    agent = Agent(ScriptedModel([call("write")] * 2), [write])
    events = events_of(agent)
    assert [event.text for event in events if isinstance(event, ev.AnswerDelta)] == ["It", " is", " 3."]
    assert concatenated(events) == "It is 3."
    assert not [event for event in events if isinstance(event, ev.ToolOutput)]
    agent = Agent(ScriptedModel([call("write")]), [write])
    assert "".join(agent.text("q")) == "\n[write] {}\nIt is 3."


def test_the_output_of_such_a_tool_that_fails_is_not_the_answer():
    @tool
    def write() -> ToolResponse:
        """Write the answer."""

        def pieces() -> Any:
            yield "It is "
            raise ValueError("no ink")

        return ToolResponse(pieces(), final_answer=True)

    events = events_of(Agent(ScriptedModel([call("write"), "I cannot."]), [write]))
    assert concatenated(events) == "I cannot."
    assert ev.AnswerRetracted("It is") in events


async def test_each_record_says_whose_it_is_and_only_the_roots_answer_is_shown():
    child = Agent(ScriptedModel(["CHILD"] * 9), tools=None, name="helper")
    order = call("helper", user_prompt="do", reasoning="r", context="c")
    agent = Agent(ScriptedModel([order, "BOSS"] * 9), [child.as_tool()])
    records = [record async for record in agent.stream_records("q")]
    (root,) = {record.run for record in records if not record.depth}
    inside = [record for record in records if record.depth]
    assert inside
    assert {(record.parent, record.depth) for record in inside} == {(root, 1)}
    assert any(record.offset for record in inside), "live events too"
    assert [piece async for piece, _ in agent.deltas("q") if piece] == ["BOSS"]
    events = [event async for event in agent.stream("q")]
    assert concatenated(events) == "BOSS"
    shown = "".join(agent.text("q"))
    assert shown.endswith("BOSS")
    assert shown.count("CHILD") == 1, "as the result of the tool"


async def test_the_first_word_is_shown_within_a_millisecond_of_the_providers():
    """In process: in the same step of the event loop, so that it cannot depend on how busy the machine is; and the
    work for it, in CPU time, is far below a millisecond."""

    class Stamped(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
            self.requests.append(request)
            for word in ("Hello", " there", " again"):
                gave.append(time.thread_time())
                turn.append(0)
                asyncio.get_running_loop().call_soon(turn.append, 1)
                yield TextDelta(word)
            yield Reply("Hello there again")

    gave, took, turn, turns = list[float](), list[float](), list[int](), list[int]()
    for _ in range(20):
        run = Agent(Stamped([]), [echo]).start("q")

        def sink(record: ev.Record) -> None:
            if isinstance(record.event, ev.AnswerDelta):
                took.append(time.thread_time() - gave[-1])
                turns.append(turn[-1])

        run.subscribe(sink)
        await run
    assert len(took) == 60
    assert not any(turns), "it is shown before the event loop does anything else"
    assert sorted(took)[len(took) // 2] < 0.001


async def test_what_is_said_while_the_answer_is_written_is_answered():
    def said(request: Request) -> str:
        run.send("and in euros?")
        return "The first answer."

    model = ScriptedModel(["brief", said, "brief too", "Both answered."])
    run = Agent(model, [echo], answer="synthesize").start("q")
    seen: list[Any] = []
    run.subscribe(lambda record: seen.append(record.event))
    result = await run
    assert (result.answer, result.unread) == ("Both answered.", ())
    assert concatenated(seen) == "Both answered."
    assert ev.AnswerRetracted("The first answer.") in seen


async def test_what_could_not_be_read_any_more_is_in_the_result_and_in_the_log():
    def said(request: Request) -> str:
        run.send("and in euros?")
        return "Forced."

    run = Agent(ScriptedModel([call("echo", text="x"), said]), [echo], max_iterations=1).start("q")
    result = await run
    assert result.answer == "Forced."
    assert run.state.finished is not None
    assert result.unread == result.leftovers == run.state.finished.unread == ("and in euros?",)


async def test_a_cancel_while_the_answer_is_written_is_obeyed():
    class StopsLate(Plugin):
        name = "stops late"

        async def on_answer(self, run: Any, answer: str) -> str:
            assert started.cancel()
            return answer

    started: Any = None
    started = Agent(ScriptedModel(["42"]), [echo], plugins=[StopsLate()]).start("q")
    result = await started
    assert result.stop_reason == "cancelled"
    assert not started.cancel(), "and after the end it says that it is too late"
