"""What an answer is written from, and how much of it fits."""

from __future__ import annotations

from engine.executions import started
from treadle import Budget, ScriptedModel
from treadle._engine.answering.material import synthesis_messages, trace_chars
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.profile import Profile
from treadle._types.state_values import Step


def test_messages_of_a_synthesis_without_a_run():
    system, user = synthesis_messages("WRITE", "how much?", [], "3", 100)
    assert system == SystemMessage("WRITE")
    assert "(no tool was run)" in str(user)


async def test_a_trace_has_room_for_half_of_what_fits():
    assert trace_chars(await started(ScriptedModel([], profile=Profile()))) is None
    run = await started(ScriptedModel([], profile=Profile()), context_budget=1_000, budget=Budget(requests=1))
    assert trace_chars(run) == int(1_000 * run.current.estimator.ratio / 2)


def test_a_long_conversation_leaves_room_for_the_work():
    long = [UserMessage("x" * 50_000, kind="history"), UserMessage("how much?", pinned=True)]
    _, facts = synthesis_messages("WRITE", "how much?", [], "3", 2_000, 4_000, transcript=[*long, *long])
    assert len(str(facts)) < 4_000


def test_a_small_window_shows_all_that_the_user_said_the_summary_and_every_step():
    transcript = [UserMessage("q", pinned=True)]
    transcript += [UserMessage(f"word{n} " * 200, kind="interrupt", pinned=True) for n in range(5)]
    steps = [Step(n, "look", {"page": n}, f"found{n} " * 400, "", 0.0, f"c{n}") for n in range(40)]
    room = 12_000
    _, facts = synthesis_messages(
        "WRITE", "q", steps, "draft", 2_000, room, transcript=transcript, summary="SUMMARY of earlier work"
    )
    text = text_of(facts.content)
    assert all(text.count(f"word{n}") > 150 for n in range(5))
    assert "SUMMARY of earlier work" in text
    assert all(f"{n + 1}. look(" in text for n in range(40))
    assert len(text) < room * 1.1
    assert text.count("found39") > text.count("found0 ")
