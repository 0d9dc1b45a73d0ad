"""Conversations: history in, history out, kept in a journal under an id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kit import assert_paired, call, echo, go, user_texts
from plugins.scenes import DIALECTS, TEXT_ONLY, CountingModel, answer_in, components, count, in_dialect, request_text
from treadle import Agent, RepairPolicy, RetryPolicy, ScriptedModel, tool
from treadle._agent.conversation import Conversation, history_of
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import RequestRefusedError, TransientModelError
from treadle._types.events import ContextCompacted
from treadle._types.messages import AssistantMessage, SystemMessage, UserMessage
from treadle._types.request import Request


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_next_turn_knows_what_was_said_and_done(dialect: str):
    script = [
        in_dialect(dialect, "echo", text="It was George Eliot."),
        answer_in(dialect, "George Eliot."),
        answer_in(dialect, "In 1819."),
    ]
    model = ScriptedModel(script, abilities={} if dialect == "native" else TEXT_ONLY)

    async def main() -> None:
        talk = Conversation(Agent(model, [echo], dialect=dialect, system="S"))
        assert (await talk.ask("Who wrote Middlemarch?")).answer == "George Eliot."
        assert (await talk.ask("When was she born?")).answer == "In 1819."
        history = await talk.history()
        assert_paired(history)
        assert isinstance(history[-1], AssistantMessage)
        assert not any(isinstance(message, UserMessage) and message.pinned for message in history)

    go(main())
    first, last = model.requests[1], model.requests[-1]
    assert last.messages[: len(first.messages)] == tuple(
        message
        if not isinstance(message, UserMessage) or message.kind == "observation"
        else UserMessage(message.content, kind="history")
        for message in first.messages
    )
    assert sum(isinstance(message, SystemMessage) for message in last.messages) == 1
    assert "It was George Eliot." in request_text(last)
    assert user_texts(last.messages)[-1] == "When was she born?"


async def test_a_results_messages_can_be_the_next_history():
    model = ScriptedModel([call("echo", text="x"), "one", "two"])
    agent = Agent(model, [echo], system="You are S.")
    first = await agent.run("first?")
    await agent.run("second?", history=first.messages)
    last = model.requests[-1]
    assert [type(message).__name__ for message in last.messages] == [
        "SystemMessage", "UserMessage", "AssistantMessage", "ToolMessage", "AssistantMessage", "UserMessage",
    ]  # fmt: skip
    assert last.messages[0].text == "You are S.", "the rendered prompt of the run before is not said twice"
    assert [message.pinned for message in last.messages if isinstance(message, UserMessage)] == [False, True]


async def test_an_id_keeps_the_conversation_in_the_journal(tmp_path: Path):
    path = str(tmp_path / "runs.db")

    async def one(question: str, reply: str) -> Request:
        model = ScriptedModel([reply])
        talk = Conversation(Agent(model, [echo]), "customer-7", path)
        await talk.ask(question)
        await talk.agent.journal.aclose()
        return model.requests[0]

    await one("My name is Ann.", "Hello Ann.")
    await one("I live in Oslo.", "Noted.")
    last = await one("Who am I and where?", "Ann, in Oslo.")
    assert user_texts(last.messages) == ["My name is Ann.", "I live in Oslo.", "Who am I and where?"]
    from treadle._journal import open_journal

    journal = open_journal(path)
    assert len(await journal.list(conversation="customer-7")) == 3
    assert len(await journal.list(conversation="another")) == 0
    await journal.aclose()


async def test_conversations_do_not_mix_and_the_agents_own_journal_serves():
    model = ScriptedModel(lambda request: f"answer to {user_texts(request.messages)[-1]}")
    agent = Agent(model, [echo], journal=MemoryJournal())
    first, second = Conversation(agent, "a", user="ann"), Conversation(agent, "b")
    await first.ask("one")
    await second.ask("two")
    await first.ask("three")
    assert user_texts(model.requests[-1].messages) == ["one", "three"]
    infos = await agent.journal.list(conversation="a")
    assert {info.user for info in infos} == {"ann"}


@pytest.mark.parametrize(
    ("failure", "known"),
    [
        (RequestRefusedError("no", status=400), ["one", "three"]),
        (TransientModelError("away", status=503), ["one", "two", "three"]),
        ("", ["one", "three"]),
    ],
    ids=["refused", "away", "empty"],
)
async def test_a_failed_turn_is_known_later_unless_it_would_fail_or_spoil_those_after_it(
    failure: Any, known: list[str]
):
    for journal in (None, MemoryJournal()):
        model = ScriptedModel(["fine", failure, "fine again"])
        agent = Agent(model, [echo], on_error="result", retry=RetryPolicy(attempts=1), repair=RepairPolicy(max_parse=0))
        talk = Conversation(agent, journal=journal)
        await talk.ask("one")
        assert (await talk.ask("two")).stop_reason in ("error", "empty")
        await talk.ask("three")
        sent = model.requests[-1].messages
        assert user_texts(sent) == known
        assert isinstance(sent[-2], AssistantMessage), "each turn ends in an answer, or in words that there is none"


async def test_a_turn_that_was_stopped_before_its_answer_is_known_later():
    model = ScriptedModel([call("wait_long"), "fine"])
    started = asyncio.Event()

    @tool
    async def wait_long() -> str:
        """Wait until it is stopped."""
        started.set()
        await asyncio.Event().wait()
        return ""

    talk = Conversation(Agent(model, [wait_long]))
    run = await talk.start("one")
    await started.wait()
    run.cancel()
    await run
    await talk.ask("two")
    sent = model.requests[-1].messages
    assert user_texts(sent) == ["one", "two"]
    assert_paired(sent)
    assert isinstance(sent[-2], AssistantMessage)


async def test_it_starts_from_a_given_history():
    model = ScriptedModel(["yes"])
    talk = Conversation(
        Agent(model, [echo]), history=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    )
    await talk.ask("still there?")
    assert user_texts(model.requests[0].messages) == ["hi", "still there?"]


async def test_the_answer_the_user_got_is_what_is_remembered():
    model = ScriptedModel([call("echo", text="x"), "draft", "The whole, fine answer.", "ok", "final"])
    talk = Conversation(Agent(model, [echo], preset="two_phase"))
    await talk.ask("one")
    await talk.ask("two")
    assert "The whole, fine answer." in request_text(model.requests[3])
    assert "draft" not in request_text(model.requests[3])


async def test_the_engines_own_remarks_do_not_become_history():
    texts = {"analysis": "ANALYSIS", "reflection": "REFLECTION", "complete": "The answer."}
    steps = iter(['[{"name": "echo", "arguments": {"text": "x"}}]', '[{"name": "__complete_task__", "arguments": {}}]'])
    model = ScriptedModel(lambda request: texts.get(request.component) or next(steps))
    run = Agent(model, [echo], preset="reflective").start("one")
    await run
    words = "\n".join(
        message.text if hasattr(message, "text") else str(message.content) for message in history_of(run.state)
    )
    assert "REFLECTION" not in words
    assert "ANALYSIS" not in words
    assert words.endswith("The answer.")


async def test_a_long_conversation_is_compacted_on_load_and_stays_so():
    turn = 0

    def reply(request: Request) -> Any:
        return "SUMMARY of the talk" if request.component == "compaction" else f"answer {turn} " + "word " * 150

    model = CountingModel(reply, window=4_000)
    talk = Conversation(Agent(model, [echo], max_tokens=400, journal=MemoryJournal()), "long")
    compactions = 0
    for turn in range(40):
        run = await talk.start(f"question {turn}: " + "detail " * 20)
        await run
        found = [record.event for record in run.records if isinstance(record.event, ContextCompacted)]
        compactions += len(found)
        assert all(event.original_messages > event.kept_messages for event in found)
    assert max(count(request) for request in model.requests) <= 3_600
    assert 2 <= compactions <= 12, "not at every turn: what was compacted stays so"
    assert components(model).count("compaction") == compactions
    last = model.requests[-1]
    assert "SUMMARY of the talk" in request_text(last)
    assert sum(isinstance(message, UserMessage) and message.kind == "summary" for message in last.messages) == 1
    assert "question 38" in request_text(last)
