"""Dialects by name, the choice of one for a model, and earlier replies shown in another dialect."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import pytest

from dialects.samples import CALL, NAMES, OWN_ANSWER, OWN_CALL, TEXT_NAMES, THOUGHTLESS, decode, executable
from kit import row
from treadle import Agent, ScriptedModel
from treadle._dialects import registry
from treadle._dialects.base import Decision
from treadle._dialects.registry import add_dialect, choose_dialect, dialect_for, get_dialect, show_assistant
from treadle._dialects.text import TextDialect
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema


def test_every_dialect_is_available_and_stateless():
    for name in NAMES:
        with row(name):
            dialect = get_dialect(name)
            assert dialect.name == name
            assert dialect.native == (name == "native")
            assert dialect == get_dialect(name)
            with pytest.raises(AttributeError):
                dialect.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_an_unknown_dialect_lists_the_existing_ones():
    with pytest.raises(ConfigError, match="expected one of: native, json, action, array, schema"):
        get_dialect("xml")
    with pytest.raises(ConfigError, match="options"):
        get_dialect("json", completion="x")


def test_choice():
    for setting, profile, allow_native, want in [
        ("json", Profile(tool_call=True), True, "json"),
        ("native", Profile(), True, "native"),
        ("auto", Profile(tool_call=True, json_schema=True), True, "native"),
        ("auto", Profile(tool_call=True, json_schema=True), False, "schema"),
        ("auto", Profile(json_schema=True), True, "schema"),
        ("auto", Profile(grammar=True), True, "direct"),
        ("auto", Profile(dialect="schema", grammar=True), True, "direct"),
        ("auto", Profile(grammar=True, tiny=True), True, "brief"),
        ("auto", Profile(dialect="schema", tiny=True), True, "brief"),
        ("schema", Profile(grammar=True, tiny=True), True, "schema"),
        ("auto", Profile(tiny=True), True, "json"),
        ("auto", Profile(json_mode=True), True, "json"),
        ("auto", Profile(), True, "json"),
        ("auto", Profile(tool_call=True, dialect="schema"), True, "schema"),
        ("auto", Profile(dialect="native"), True, "native"),
        ("auto", Profile(dialect="native", tool_call=True), False, "json"),
        ("auto:json", Profile(tool_call=True, json_schema=True), True, "native"),
        ("auto:json", Profile(tool_call=True, json_schema=True), False, "json"),
        ("auto:json", Profile(json_schema=True), True, "json"),
        ("auto:json", Profile(tool_call=True, dialect="schema"), True, "json"),
        ("auto:action", Profile(), True, "action"),
    ]:
        with row(setting, profile, allow_native, want):
            assert choose_dialect(setting, profile, allow_native).name == want


def test_a_bad_setting_is_an_error():
    for setting in ("", "best", "auto:best"):
        with pytest.raises(ConfigError):
            choose_dialect(setting, Profile())


def test_a_message_of_its_own_is_sent_unchanged():
    for name in TEXT_NAMES:
        with row(name):
            message = AssistantMessage(
                OWN_CALL[name] + " ", (ToolCall("call_0", "search", {"query": "x"}),), dialect=name
            )
            sent = show_assistant(message, get_dialect(name))
            assert sent.text == message.text
            assert sent.calls == ()
            plain = AssistantMessage("anything", dialect=name)
            assert show_assistant(plain, get_dialect(name)) is plain


def test_messages_of_another_dialect_are_rewritten():
    for name, source in product(TEXT_NAMES, ["native", *TEXT_NAMES]):
        with row(name, source):
            call = (ToolCall("a", "search", {"query": "red pandas", "limit": 3}),)
            text = "look" if source == "native" else OWN_CALL[source]
            sent = show_assistant(AssistantMessage(text, call, "deep", source), get_dialect(name))
            assert executable(decode(name, sent.text)) == CALL
            assert (sent.calls, sent.dialect, sent.reasoning) == ((), name, "deep")
            answer = AssistantMessage("Paris" if source == "native" else OWN_ANSWER[source], dialect=source)
            assert decode(name, show_assistant(answer, get_dialect(name)).text).answer == "Paris"


def test_text_messages_become_native_ones():
    for source in TEXT_NAMES:
        with row(source):
            native = get_dialect("native")
            call = (ToolCall("a", "search", {"query": "x"}),)
            sent = show_assistant(AssistantMessage(OWN_CALL[source], call, dialect=source), native)
            assert (sent.calls, sent.dialect) == (call, "native")
            assert sent.text == ("" if source in THOUGHTLESS else "look")
            assert show_assistant(AssistantMessage(OWN_ANSWER[source], dialect=source), native).text == "Paris"
            unreadable = AssistantMessage("{hm", dialect="json")
            assert show_assistant(unreadable, native).text == "{hm"


def test_the_settings_of_a_run_name_the_completing_call():
    assert dialect_for("array", "done") == get_dialect("array", completion="done")
    assert dialect_for("json", "done") is get_dialect("json")


class Shouting(TextDialect, frozen=True):
    name: ClassVar[str] = "shouting"
    prompt: ClassVar[str] = "{tools}"
    reformat_prompt: ClassVar[str] = "{problem}"

    def write(self, decision: Decision) -> str:
        return (decision.answer or "").upper()

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        return Decision(answer=reply.text.lower())


@pytest.fixture
def no_dialects_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_instances", {})


@pytest.mark.usefixtures("no_dialects_of_others")
def test_a_dialect_of_ones_own_is_used_by_its_name():
    with pytest.raises(ConfigError, match="unknown dialect 'shouting'"):
        get_dialect("shouting")
    add_dialect(Shouting())
    add_dialect(Shouting())  # a module that is imported twice
    assert isinstance(get_dialect("shouting"), Shouting)
    result = Agent(ScriptedModel(["HELLO"]), tools=None, dialect="shouting").run_sync("?")
    assert result.answer == "hello"


@pytest.mark.usefixtures("no_dialects_of_others")
@pytest.mark.parametrize("name", ["json", "auto", "two words", "auto:json", ""])
def test_a_dialect_of_ones_own_has_a_name_of_its_own(name: str):
    other = type("Other", (Shouting,), {"name": name}, frozen=True)
    with pytest.raises(ConfigError, match="name"):
        add_dialect(other())
