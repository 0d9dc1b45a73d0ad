"""Exchanges become runs: conversations, calls with results, sub-agents, failures, and what can be done with them."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from kit import go
from record.exchanges import (
    LAMP,
    QUESTION,
    SYSTEM,
    TOOLS,
    calls,
    chat,
    events,
    exchange,
    lamp_run,
    recorded,
    result,
    says,
)
from treadle import Agent, ScriptedModel, blame, compare, fork, replay, tool
from treadle._journal.memory import MemoryJournal
from treadle._record.exchange import HttpExchange
from treadle._record.findings import findings
from treadle._record.runs import RunWriter
from treadle._types import events as ev
from treadle._types.errors import JournalError
from treadle._types.messages import ToolMessage
from treadle._types.state import fold


def test_a_conversation_is_one_run_with_steps_tokens_and_cost():
    (records,) = go(recorded(lamp_run()))
    state = fold(records)
    assert (state.question, state.model) == (QUESTION["content"], "gpt-4o-mini")
    assert [(step.tool, step.args, step.observation) for step in state.steps] == [("price", {"item": "lamp"}, "40")]
    assert (state.finished.stop_reason, state.finished.answer) == ("answer", "The lamp costs 40 dollars.")
    assert (state.usage.requests, state.usage.input_tokens, state.usage.output_tokens) == (2, 2000, 20)
    assert state.usage.cost == pytest.approx(2000 * 0.15e-6 + 20 * 0.6e-6)
    first, second = events(records, ev.Exchanged)
    assert (first.compared, second.broke, second.kept == second.compared > 0) == (0, "", True)
    assert findings(records) == []


def ollama(messages: list[Any], *documents: dict[str, Any], done: bool = True) -> HttpExchange:
    """An exchange of Ollama's own chat; several documents are a stream, cut at places that lines do not know."""
    head = {"model": "llama3.2", "created_at": "2026-11-18T10:00:00.1Z"}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 5} if done else {}
    parts = [{**head, "message": one, "done": False} for one in documents]
    parts[-1] |= end
    text = "".join(json.dumps(one) + "\n" for one in parts).encode()
    pieces = [text[at : at + 37] for at in range(0, len(text), 37)]
    body = {"model": "llama3.2", "messages": messages, "tools": TOOLS}
    one = exchange("/api/chat", body, pieces, upstream="http://127.0.0.1:11434")
    one.headers = {"content-type": "application/x-ndjson"}
    return one


def test_a_conversation_by_ollamas_own_chat_is_a_run_like_any():
    call_lamp = {"function": {"name": "price", "arguments": {"item": "lamp"}}}
    wants = {"role": "assistant", "content": "", "thinking": "Which?", "tool_calls": [call_lamp]}
    asked = [SYSTEM, {**QUESTION, "images": ["aGk="]}]
    answered = [*asked, wants, {"role": "tool", "tool_name": "price", "content": "40"}]
    says_it = [{"role": "assistant", "content": text} for text in ("It costs ", "40 dollars.")]
    (records,) = go(recorded([ollama(asked, wants), ollama(answered, *says_it)]))
    state = fold(records)
    assert [(step.tool, step.args, step.observation) for step in state.steps] == [("price", {"item": "lamp"}, "40")]
    assert (state.finished.answer, state.usage.input_tokens, state.usage.output_tokens) == (
        "It costs 40 dollars.",
        60,
        10,
    )
    assert state.profile is not None
    assert findings(records) == []
    assert replay(records).same


def test_an_ollama_stream_that_broke_off_has_no_reply():
    broken = ollama([QUESTION], {"role": "assistant", "content": "It co"}, done=False)
    (records,) = go(recorded([broken]))
    assert any("before the reply was complete" in one.error for one in events(records, ev.ThinkFailed))


async def test_a_recorded_run_replays_is_explained_compared_and_exported():
    from treadle._journal.export import export_run, import_run

    journal = MemoryJournal()
    (records,) = await recorded(lamp_run(), journal=journal)
    run = records[0].run
    assert replay(records).same
    request = next(record.seq for record in reversed(records) if isinstance(record.event, ev.ThinkStarted))
    assert {segment.component for segment in blame(records, request)} >= {
        "system",
        "question",
        "loop",
        "tool:price",
    }
    info = await journal.info(run)
    assert (info.agent, info.status, info.tags, info.stop_reason) == (
        "program",
        "finished",
        ("recorded",),
        "answer",
    )
    assert info.summary.tool_calls == 1
    other = MemoryJournal()
    assert await import_run(other, await export_run(journal, run)) == run
    (again,) = await recorded(lamp_run())
    await journal.append(again)
    assert all(pair.change == "same" for pair in (await compare(journal, run, again[0].run)).steps)


@tool(effect="pure")
async def price(item: str) -> str:
    """The price of an item."""
    return "41"


@pytest.mark.parametrize("dialect", ["native", "json"])
async def test_a_recorded_run_is_continued_here_from_any_step_with_another_model(dialect: str):
    def _reply(one: Any) -> Any:
        from treadle._types.request import RawCall, Reply

        return one if isinstance(one, str) else Reply(calls=(RawCall("x1", one["name"], '{"item": "lamp"}'),))

    journal = MemoryJournal()
    (records,) = await recorded(lamp_run(), journal=journal)
    answer = "It costs 40." if dialect == "native" else '{"answer": "It costs 40."}'
    for step, script in ((2, [answer]), (1, [{"name": "price", "args": {"item": "lamp"}}, answer])):
        model = ScriptedModel([_reply(one) for one in script])
        agent = Agent(model, tools=[price], journal=journal, dialect=dialect)
        answered = await agent.resume(await fork(journal, records[0].run, step))
        assert answered.answer == "It costs 40."
        said = str(model.requests[-1].messages)
        assert QUESTION["content"] in said
        assert "You sell lamps." in said
        assert ("41" if step == 1 else "40") in said


async def test_a_run_with_an_open_call_stays_open_and_is_taken_over():
    journal = MemoryJournal()
    (records,) = await recorded(lamp_run()[:1], journal=journal)
    run = records[0].run
    assert (await journal.info(run)).status == "idle"
    assert [finding.kind for finding in findings(records)] == ["unpaired_call"]
    agent = Agent(ScriptedModel(["It costs 41."]), tools=[price], journal=journal)
    answered = await agent.resume(run)
    assert answered.answer == "It costs 41."
    assert [step.observation for step in answered.steps] == ["41"]


def test_streams_are_read_and_their_first_token_is_timed():
    head = {"id": "c", "model": "gpt-4o-mini", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}
    one, two = ({"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Forty ", "dollars."))
    end = {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    pieces = [head, one, two, end, b"data: [DONE]\n\n"]
    (records,) = go(recorded([chat([QUESTION], {}, answer=pieces)]))
    state = fold(records)
    assert state.finished.answer == "Forty dollars."
    assert state.usage.input_tokens == 7
    assert events(records, ev.Exchanged)[0].first_token == pytest.approx(0.2)


def test_two_runs_with_the_same_question_at_once_stay_apart():
    first, second = (calls(("price", {"item": "lamp"}), start=number) for number in (1, 2))
    runs = go(
        recorded(
            [
                chat([SYSTEM, QUESTION], first),
                chat([SYSTEM, QUESTION], second),
                chat([SYSTEM, QUESTION, second, result("2", 2)], says("two")),
                chat([SYSTEM, QUESTION, first, result("1", 1)], says("one")),
            ]
        )
    )
    answers = [fold(records).finished for records in runs]
    assert [(one.answer, fold(r).steps[0].observation) for one, r in zip(answers, runs, strict=True) if one] == [
        ("one", "1"),
        ("two", "2"),
    ]


def test_a_chat_goes_on_in_the_same_run():
    follow = [SYSTEM, QUESTION, says("40."), {"role": "user", "content": "And the table?"}]
    (records,) = go(recorded([chat([SYSTEM, QUESTION], says("40.")), chat(follow, says("90."))]))
    state = fold(records)
    assert [event.message.content for event in events(records, ev.MessageAdded)] == ["And the table?"]
    assert state.finished.answer == "90."
    assert findings(records) == []


def test_a_conversation_that_began_before_the_recording_has_its_history():
    messages = [SYSTEM, {"role": "user", "content": "Hello"}, says("Hi"), QUESTION, LAMP, result("40")]
    (records,) = go(recorded([chat(messages, says("40"))]))
    state = fold(records)
    assert state.question == QUESTION["content"]
    assert len(state.started.history if state.started else ()) == 2
    assert any(isinstance(message, ToolMessage) for message in state.conversation.transcript)
    assert replay(records).same


def test_several_calls_at_once_and_results_in_another_order():
    both = calls(("price", {"item": "lamp"}), ("price", {"item": "table"}))
    messages = [QUESTION, both, result("90", 2), result("40", 1)]
    (records,) = go(recorded([chat([QUESTION], both), chat(messages, says("130"))]))
    assert {step.args["item"]: step.observation for step in fold(records).steps} == {"lamp": "40", "table": "90"}
    assert replay(records).same


def test_an_agent_inside_another_is_its_child():
    ask = calls(("ask_expert", {"question": "Which lamp is cheapest?"}))
    inner = [
        {"role": "system", "content": "You are the expert."},
        {"role": "user", "content": "Which lamp is cheapest?"},
    ]
    exchanges = [
        chat([SYSTEM, QUESTION], ask),
        chat(inner, calls(("price", {"item": "small lamp"}), start=7)),
        chat([*inner, calls(("price", {"item": "small lamp"}), start=7), result("9", 7)], says("The small one, 9.")),
        chat([SYSTEM, QUESTION, ask, result("The small one, 9.")], says("9 dollars.")),
    ]
    outer, child = go(recorded(exchanges))
    assert (child[0].parent, child[0].depth, outer[0].parent) == (outer[0].run, 1, "")
    assert fold(outer).usage.requests == 4  # its own and the child's
    assert [step.tool for step in fold(outer).steps] == ["ask_expert"]


def test_retries_belong_to_the_request_that_failed():
    busy = {"answer": {"error": {"message": "slow down"}}, "status": 429}
    exchanges = [
        chat([SYSTEM, QUESTION], {}, **busy),
        chat([SYSTEM, QUESTION], {}, **busy),
        chat([SYSTEM, QUESTION], says("40"), tokens=500),
    ]
    (records,) = go(recorded(exchanges))
    assert [event.attempt for event in events(records, ev.ThinkFailed)] == [1, 2]
    assert len(events(records, ev.ThinkStarted)) == len(events(records, ev.ThinkDone)) == 1
    kinds = [finding.kind for finding in findings(records)]
    assert (kinds.count("broken_off"), kinds.count("retry")) == (2, 2)
    assert replay(records).same


@pytest.mark.parametrize("ending", ["cut", "cancelled", "unreachable"])
def test_a_reply_that_broke_off_is_no_reply(ending: str):
    piece = {"choices": [{"index": 0, "delta": {"content": "Fo"}}]}
    (records,) = go(
        recorded([chat([QUESTION], {}, answer=[piece], ending=ending, status=200 if ending != "unreachable" else 0)])
    )
    state = fold(records)
    assert len(events(records, ev.ThinkFailed)) == 1
    assert (state.finished.stop_reason, state.finished.success) == ("error", False)


def changing(first: list[Any], second: list[Any], **more: Any) -> tuple[list[ev.Record], ev.Exchanged]:
    (records,) = go(recorded([chat(first, LAMP, tokens=1000), chat(second, says("40"), **more)]))
    return records, events(records, ev.Exchanged)[1]


def test_a_clock_in_the_system_prompt_breaks_the_prefix():
    one, two = ({"role": "system", "content": f"It is 12:0{n}:00. " + "You sell lamps. " * 50} for n in (1, 2))
    records, second = changing([one, QUESTION], [two, QUESTION, LAMP, result("40")])
    assert second.broke == "message 1"  # in chat completions the system prompt is the first message
    assert "12:01" in second.before
    assert "12:02" in second.after
    assert second.kept < 250  # the tools, and the beginning of the system prompt
    assert 700 < second.lost_tokens < 1000
    assert second.lost_cost == pytest.approx(second.lost_tokens * (0.15 - 0.075) / 1e6)
    assert fold(records).started.system == two["content"]  # pyright: ignore[reportOptionalMemberAccess]
    assert [step.observation for step in fold(records).steps] == ["40"]
    assert replay(records).same


def test_other_tools_break_the_prefix():
    more = [*TOOLS, {"type": "function", "function": {"name": "stock", "parameters": {}}}]
    records, second = changing([SYSTEM, QUESTION], [SYSTEM, QUESTION, LAMP, result("40")], tools=more)
    assert second.broke == "tools"
    assert [tool.name for tool in fold(records).tools] == ["price", "stock"]
    assert replay(records).same


def test_a_shortened_history_is_the_same_conversation():
    old = [{"role": "user", "content": "Hello"}, says("Hi")]
    records, second = changing([SYSTEM, *old, QUESTION], [SYSTEM, QUESTION, LAMP, result("40")])
    assert second.broke == "message 2"
    assert [step.observation for step in fold(records).steps] == ["40"]
    assert len(events(records, ev.HistoryReplaced)) == 1
    assert replay(records).same


def test_a_reply_written_back_as_text_is_the_same_conversation():
    """As smolagents does: calls and results become plain text."""
    back = [says("Calling tools: [price]"), {"role": "user", "content": "Observation:\n40"}]
    records, second = changing([SYSTEM, QUESTION], [SYSTEM, QUESTION, *back])
    assert second.broke == ""
    assert [(step.tool, step.observation) for step in fold(records).steps] == [("price", "Observation:\n40")]
    assert [event.reason for event in events(records, ev.HistoryReplaced)] == ["a reply was rewritten"]
    assert replay(records).same


def test_another_model_in_the_middle():
    records, _ = changing([SYSTEM, QUESTION], [SYSTEM, QUESTION, LAMP, result("40")], model="gpt-4o")
    assert [event.model for event in events(records, ev.ModelSwitched)] == ["gpt-4o"]
    assert replay(records).same


def test_a_final_tool_ends_a_run():
    final = calls(("final_answer", {"answer": "40 dollars"}))
    (records,) = go(recorded([chat([QUESTION], final)]))
    finished = fold(records).finished
    assert (finished.stop_reason, finished.answer) == ("final_tool", "40 dollars")
    assert findings(records) == []


async def test_a_killed_recorder_is_followed_by_one_that_goes_on():
    journal = MemoryJournal()
    first, second = lamp_run()
    writer = RunWriter(journal, "program")
    await writer.take(first, lambda text: text)
    (info,) = await journal.list()
    await journal.release(info.run_id, writer._owner)  # pyright: ignore[reportPrivateUsage] # as if it had died
    (records,) = await recorded([second], journal=journal)
    assert fold(records).finished is not None
    assert [step.observation for step in fold(records).steps] == ["40"]
    assert replay(records).same


async def test_a_journal_that_fails_loses_what_failed_and_no_more():
    class Failing(MemoryJournal):
        broken = False

        async def append(self, records: Any) -> None:
            if self.broken:
                raise JournalError("the disk is full")
            await super().append(records)

    journal = Failing()
    writer = RunWriter(journal, "program")
    first, second = lamp_run()
    journal.broken = True
    with pytest.raises(JournalError):
        await writer.take(first, str)
    journal.broken = False
    await writer.take(second, str)  # a run of its own, with what it knows
    (info,) = await journal.list()
    records = await journal.load(info.run_id)
    assert fold(records).question == QUESTION["content"]
    assert replay(records).same


def test_what_is_no_request_to_a_model_is_no_run():
    others = [
        exchange("/v1/embeddings", {"input": "x"}, {}),
        exchange("/v1/chat/completions", {"odd": True}, {"error": "bad"}, status=400),
        exchange("/v1/models", {}, {}),
    ]
    assert go(recorded(others)) == []


async def test_a_secret_that_streams_in_pieces_is_not_stored():
    key = "made-up-secret-0123456789"
    from treadle._safety.secrets import known_secrets

    owner = type("Owner", (), {})()
    known_secrets.keep(owner, "key", [key])
    pieces = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in (key[:9], key[9:])]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    (records,) = await recorded([chat([QUESTION], {}, answer=[*pieces, end, b"data: [DONE]\n\n"])])
    assert key not in str(records)
    assert "[redacted:key]" in str(records)
    await asyncio.sleep(0)


def test_a_shorter_request_after_one_that_was_refused_is_the_same_conversation():
    long = [SYSTEM, {"role": "user", "content": "Hello"}, says("Hi"), QUESTION]
    refused = chat(long, {}, answer={"error": {"message": "too long"}}, status=400)
    (records,) = go(recorded([refused, chat([SYSTEM, QUESTION], says("40"))]))
    assert len(events(records, ev.ThinkFailed)) == len(events(records, ev.ThinkDone)) == 1
    assert len(events(records, ev.ThinkStarted)) == 2
    assert replay(records).same


def test_another_agent_with_the_same_question_is_no_retry():
    other = {"role": "system", "content": "You are the other one."}
    failed = chat([SYSTEM, QUESTION], {}, answer={"error": {"message": "busy"}}, status=503)
    assert len(go(recorded([failed, chat([other, QUESTION], says("40"))]))) == 2


def test_a_word_in_common_makes_no_child():
    exchanges = [chat([SYSTEM, QUESTION], LAMP), chat([{"role": "user", "content": "Is a lamp a light?"}], says("Yes"))]
    assert [records[0].parent for records in go(recorded(exchanges))] == ["", ""]


@pytest.mark.parametrize("own_ids", [True, False])
def test_conversations_with_the_same_question_at_once_are_never_mixed(own_ids: bool):
    """In any order, also where a provider gives the same ids to all of them."""
    chance = random.Random(own_ids)
    waiting: list[list[HttpExchange]] = []
    for number in range(8):
        first, exchanges = 100 * number if own_ids else 0, list[HttpExchange]()
        messages: list[Any] = [SYSTEM, QUESTION]
        for step in range(1, chance.randint(2, 5)):
            called = calls(("price", {"item": f"item {step}"}), start=first + step)
            exchanges.append(chat(messages, called))
            messages = [*messages, called, result(f"{first} {step}", first + step)]
        waiting.append([*exchanges, chat(messages, says(f"done {first}"))])
    lengths = sorted(len(one) - 1 for one in waiting)
    mixed: list[HttpExchange] = []
    while left := [one for one in waiting if one]:
        mixed.append(chance.choice(left).pop(0))
    runs = go(recorded(mixed))
    states = [fold(records) for records in runs]
    assert sorted(len(state.steps) for state in states) == lengths
    for records, state in zip(runs, states, strict=True):
        owner = state.finished.answer.removeprefix("done ")
        assert {step.observation.split()[0] for step in state.steps} == {owner}
        assert findings(records) == []
        assert replay(records).same
