"""`render(state)`: a pure function of the state, though it remembers what it has rendered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle._dialects.registry import get_dialect
from treadle._engine.requests.render import Renderer, digest_of
from treadle._engine.settings import RepairPolicy, Settings
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, ToolSchema
from treadle._types.state import RunState, fold

ADD, ECHO = ToolSchema("add", "Add.", {"type": "object"}), ToolSchema("echo", "Say.", {"type": "object"})
CALL = ToolCall("c1", "add", {"a": 1})
DIALECTS = ["native", "json", "action", "array", "schema", "direct", "brief", "code"]


def log(*events: Any, **start: Any) -> list[ev.Record]:
    first = ev.RunStarted("the question", system="Be kind.", tools=(ADD, ECHO), **start)
    return [ev.Record("run", n, 0.0, event) for n, event in enumerate((first, *events))]


def renderer(dialect: str = "native", **changes: Any) -> Renderer:
    return Renderer(get_dialect(dialect), Settings(**changes), Profile(tool_call=True, json_schema=True))


def reply(*calls: ToolCall, text: str = "") -> ev.ThinkDone:
    return ev.ThinkDone("loop", 1, AssistantMessage(text, calls))


ROUND = (reply(CALL), ev.ToolDone("c1", "add", 1, "3"))


def test_a_request_holds_system_prompt_question_and_tools():
    rendered = renderer().render(fold(log()))
    assert rendered.request.messages[0] == SystemMessage("Be kind.")
    assert rendered.request.messages[1] == UserMessage("the question", pinned=True)
    assert [tool.name for tool in rendered.request.tools] == ["add", "echo"]
    assert rendered.system == "Be kind."


def test_a_repair_of_its_own_is_asked_for_at_low_temperature():
    separate = renderer(temperature=0.7, repair=RepairPolicy(separate_call=True))
    assert separate.render(fold(log()), component="repair").request.temperature == 0.1
    assert separate.render(fold(log())).request.temperature == 0.7
    assert renderer(temperature=0.7).render(fold(log()), component="repair").request.temperature == 0.7


def test_only_what_is_new_is_reported_and_the_system_prompt_once():
    state, r = RunState(), renderer()
    for record in log(*ROUND):
        state.apply(record)
        if record.seq == 0:
            first = r.render(state)
    second = r.render(state)
    assert (len(first.parts), len(second.parts)) == (2, 2)
    assert second.system is None
    assert first.digest != second.digest


def test_results_of_a_text_dialect_become_one_message_of_the_user():
    calls = (CALL, ToolCall("c2", "echo", {"text": "x"}))
    state = fold(log(reply(*calls), ev.ToolDone("c1", "add", 1, "three"), ev.ToolDone("c2", "echo", 1, "ex")))
    native, text = renderer(), renderer("json")
    assert [type(m) for m in native.render(state).request.messages[-2:]] == [ToolMessage, ToolMessage]
    last = text.render(state).request.messages[-1]
    assert isinstance(last, UserMessage)
    assert "three" in str(last.content)
    assert "ex" in str(last.content)
    assert text.origins[-1][0] == (2, 3)
    assert [origin for origin, _ in native.origins[-2:]] == [(2,), (3,)]


@pytest.mark.parametrize("dialect", ["action", "json", "brief"])
def test_the_task_is_repeated_in_short_and_no_longer_after_an_interrupt(dialect: str):
    long = "find it " * 200
    start = ev.RunStarted(long, tools=(ADD,))
    first = [ev.Record("run", n, 0.0, event) for n, event in enumerate((start, *ROUND))]
    shown = str(renderer(dialect).render(fold(first)).request.messages[-1])
    assert len(shown) < 900
    interrupted = [
        ev.Record("run", n, 0.0, event)
        for n, event in enumerate(
            (start, ev.Injected(("m",), ("stop that",)), reply(CALL), ev.ToolDone("c1", "add", 1, "3"))
        )
    ]
    assert "find it" not in str(renderer(dialect).render(fold(interrupted)).request.messages[-1])


def test_a_declared_break_starts_the_request_anew():
    state, r = RunState(), renderer()
    for record in log(*ROUND):
        state.apply(record)
    before = r.render(state)
    state.apply(ev.Record("run", 3, 0.0, ev.ContextCompacted(covers=(1, 2), summary="added")))
    after = r.render(state)
    assert [type(m).__name__ for m in after.request.messages] == ["SystemMessage", "UserMessage", "UserMessage"]
    assert after.system == "Be kind."
    assert after.request.cache is not before.request.cache


def test_the_adapters_cache_lives_as_long_as_the_prefix():
    state, r = fold(log()), renderer()
    first = r.render(state).request.cache
    assert r.render(state).request.cache is first
    r.forget()
    assert r.render(state).request.cache is not first


def test_barred_tools_leave_a_text_dialect_for_one_reply_and_stay_in_a_native_prefix():
    state = fold(log(ev.ReplyConstrained("guard", barred=("echo",))))
    assert [tool.name for tool in renderer().render(state).request.tools] == ["add", "echo"]
    free, held = renderer("schema").encoding(fold(log())), renderer("schema").encoding(state)
    assert "echo" in str(free.format)
    assert "echo" not in str(held.format)


def test_who_must_answer_is_not_held_to_act():
    state = fold(log(ev.ReplyConstrained("guard", must_act=True, barred=("echo",))))
    r = renderer("schema")
    assert r.encoding(state, must_answer=True) == r.encoding(fold(log()), must_answer=True)
    assert r.encoding(state) != r.encoding(fold(log()))


def test_prompts_of_the_user_are_part_of_the_log_and_so_of_the_request():
    changed = renderer("brief").render(fold(log(prompts={"dialect.brief": "MY OWN FORMAT {call}"})))
    assert "MY OWN FORMAT" in str(changed.system)
    assert "MY OWN FORMAT" not in str(renderer("brief").render(fold(log())).system)


def test_a_run_without_any_system_prompt_has_no_system_message():
    state = fold([ev.Record("run", 0, 0.0, ev.RunStarted("q"))])
    rendered = renderer().render(state)
    assert (len(rendered.request.messages), rendered.system) == (1, None)


def test_the_digest_depends_on_everything_that_is_sent():
    state = fold(log())
    plain = renderer().render(state).digest
    assert renderer().render(state).digest == plain
    for changed in (
        renderer(temperature=0.5).render(state),
        renderer(max_tokens=5).render(state),
        renderer(seed=1).render(state),
        renderer().render(state, must_answer=True),
        renderer().render(fold(log(ev.MessageAdded(UserMessage("more"))))),
        renderer().render(fold(log(ev.ToolsChanged((ADD,))))),
    ):
        assert changed.digest != plain


def test_an_advisers_digest_depends_on_everything_that_is_sent():
    messages = [UserMessage("look")]
    plain = digest_of(messages, (), None)
    assert digest_of([UserMessage("look")], (), None) == plain
    assert digest_of([UserMessage("look!")], (), None) != plain
    assert digest_of(messages, (ADD,), None) != plain
    assert digest_of(messages, (), OutputFormat("json")) != plain


events = st.sampled_from(
    [
        "round", "answer", "note", "interrupt", "compact", "tools",
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(events, max_size=12), st.sampled_from(DIALECTS), st.lists(st.booleans(), min_size=40, max_size=40))
def test_rendering_step_by_step_gives_what_rendering_from_scratch_gives(
    script: list[str], dialect: str, looks: list[bool]
):
    """Replay rests on this: forgetting everything and rendering again gives the same bytes."""
    state, growing = RunState(), renderer(dialect)
    records = log()
    for number, what in enumerate(script):
        call = ToolCall(f"c{number}", "add", {"n": number})
        new: list[Any] = {
            "round": [reply(call, text=f"t{number}"), ev.ToolDone(call.id, "add", 1, f"r{number}")],
            "answer": [reply(text=f"answer {number}")],
            "note": [ev.MessageAdded(UserMessage(f"note {number}", kind="note"))],
            "interrupt": [ev.Injected((f"m{number}",), ("and?",))],
            "compact": [ev.ContextCompacted(covers=(-1,), reason="trim")],
            "tools": [ev.ToolsChanged((ADD,) if number % 2 else (ADD, ECHO))],
        }[what]
        records += [ev.Record("run", len(records) + n, 0.0, event) for n, event in enumerate(new)]
    for record, look in zip(records, looks, strict=False):
        state.apply(record)
        if look and not state.calls.open:
            growing.render(state)
    again, once = growing.render(state), renderer(dialect).render(fold(records[: len(looks)]))
    assert list(again.request.messages) == list(once.request.messages)
    assert again.digest == once.digest
