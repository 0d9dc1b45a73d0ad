"""What callers hand in: text, parts, messages and dictionaries, from anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import values_of
from treadle._engine.surfaces.inputs import as_history, clean, to_content, to_messages
from treadle._types.errors import ConfigError
from treadle._types.messages import (
    AssistantMessage,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.provenance import SENT_ALONG

GIF = ImagePart(data="aGk=", mime="image/gif")
SOUND = AudioPart(data="aGk=", mime="audio/mpeg")
PDF = FilePart(data="aGk=", name="a.pdf")


@pytest.mark.parametrize(
    ("given_parts", "content"),
    [
        ("hello", "hello"),
        (["one", TextPart("two")], (TextPart("one"), TextPart("two"))),
        ([{"type": "text", "text": "t"}], (TextPart("t"),)),
        ([{"type": "image_url", "image_url": {"url": "http://x"}}], (ImagePart(url="http://x"),)),
        ([{"type": "image_url", "image_url": "http://x"}], (ImagePart(url="http://x"),)),
        ([{"type": "image", "data": "aGk=", "mime": "image/gif"}], (ImagePart(data="aGk=", mime="image/gif"),)),
        (({"type": "image", "url": "http://x"},), (ImagePart(url="http://x"),)),
        ((ImagePart(url="http://u"),), (ImagePart(url="http://u"),)),
        ([{"type": "image_url", "image_url": {"url": "data:image/gif;base64,aGk="}}], (GIF,)),
        ([{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}], (SOUND,)),
        ([{"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}}], (PDF,)),
        ([{"type": "file", "file": {"file_id": "file-1"}}], (FilePart(file_id="file-1"),)),
        ([{"type": "file", "data": "aGk=", "name": "a.pdf"}], (PDF,)),
    ],
)
def test_every_accepted_form_of_a_question(given_parts: Any, content: Any):
    assert to_content(given_parts) == content


@pytest.mark.parametrize(
    "wrong",
    [
        "", "  \n", None, 42, [], (), {}, b"bytes", [None], [{"type": "video"}], [{"type": "text"}],
        [{"type": "text", "text": 1}], [{"type": "image"}], [{"type": "image_url", "image_url": None}],
        [{"type": "image_url"}],
    ],
    ids=repr,
)  # fmt: skip
def test_anything_else_is_refused_with_what_would_be_accepted(wrong: Any):
    with pytest.raises(ConfigError, match=r"give text, or content parts|has no content: give it"):
        to_content(wrong)


@given(st.text())
def test_whole_text_is_kept(text: str):
    assert clean(text) == text


def test_lone_surrogates_are_replaced_because_they_can_be_neither_sent_nor_stored():
    assert clean("a\ud800b") == "a?b"
    assert to_content("a\udfffb") == "a?b"
    assert to_content(["\ud800"]) == (TextPart("?"),)


def test_one_text_is_a_conversation_of_one_message():
    assert to_messages("hi") == [UserMessage("hi")]


def test_dictionaries_of_every_role():
    history = [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": None},
        {"role": "user", "content": "add"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "It is 3."},
    ]
    assert to_messages(history) == [
        SystemMessage("be brief"),
        SystemMessage(""),
        UserMessage("add", kind="history"),
        AssistantMessage("", (ToolCall("c1", "add", {"a": 1}),), source=SENT_ALONG),
        ToolMessage("c1", "add", "3", source=SENT_ALONG),
        AssistantMessage("It is 3.", source=SENT_ALONG),
    ]


@pytest.mark.parametrize("arguments", ["{broken", "[1]", "null", None, [], {}])
def test_arguments_that_are_no_object_are_empty(arguments: Any):
    call = {"id": "c1", "function": {"name": "f", "arguments": arguments}}
    (message, _) = to_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert message == AssistantMessage("", (ToolCall("c1", "f", {}),), source=SENT_ALONG)


def test_a_call_may_come_without_its_function_wrapping():
    (message, _) = to_messages([{"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}]}])
    assert message == AssistantMessage("", (ToolCall("c", "f", {"a": 1}),), source=SENT_ALONG)


@pytest.mark.parametrize("wrong", [42, "text in a list", ("user", "hi"), None])
def test_what_is_no_message_is_named(wrong: Any):
    with pytest.raises(ConfigError, match=f"cannot be {type(wrong).__name__}"):
        to_messages([wrong])


@pytest.mark.parametrize("role", ["bot", None, "User"])
def test_an_unknown_role_is_named_with_those_there_are(role: Any):
    with pytest.raises(ConfigError, match=rf"role {role!r}.*user, assistant, system, tool"):
        to_messages([{"role": role, "content": "x"}])


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes():
    call = ToolCall("c1", "add")
    paired = to_messages([ToolMessage("zz", "f", "lost"), AssistantMessage("", (call,)), UserMessage("and?")])
    assert paired == [
        AssistantMessage("", (call,)),
        ToolMessage("c1", "add", "(no result was recorded)", error=True, origin="tool"),
        UserMessage("and?"),
    ]


ids = st.sampled_from(["a", "b", "c"])
messages = st.one_of(
    st.builds(UserMessage, st.just("u")),
    st.lists(ids, unique=True, max_size=3).map(
        lambda some: AssistantMessage("", tuple(ToolCall(i, "f") for i in some))
    ),
    st.builds(ToolMessage, ids, st.just("f"), st.just("r")),
)


@settings(max_examples=50)
@given(st.lists(messages, max_size=12))
def test_whatever_comes_in_has_every_call_answered_directly_after_it(history: list[Message]):
    paired = to_messages(history)
    open_calls: set[str] = set()
    for message in paired:
        if isinstance(message, ToolMessage):
            open_calls.remove(message.call_id)
        else:
            assert not open_calls
            open_calls = {call.id for call in message.calls} if isinstance(message, AssistantMessage) else set()
    assert not open_calls
    assert [m for m in paired if not isinstance(m, ToolMessage)] == [
        m for m in history if not isinstance(m, ToolMessage)
    ]


@settings(max_examples=30)
@given(st.lists(values_of(Message), max_size=6))
def test_a_history_has_nothing_pinned_no_question_and_no_system_prompt(said: list[Message]):
    history = as_history(said)
    assert not any(isinstance(message, SystemMessage) for message in history)
    for message in history:
        if isinstance(message, UserMessage):
            assert message.kind in ("history", "summary", "note")
            assert not message.pinned
    assert as_history(history) == history


def test_a_dictionary_never_names_a_file_of_this_machine():
    for part in ({"type": "file", "path": "/etc/passwd"}, {"type": "image", "url": "file:///etc/passwd"}):
        with pytest.raises(ConfigError):
            to_content([part])


TEXT = [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]


def test_text_in_parts_is_text_for_every_role():
    assert to_messages([{"role": "system", "content": TEXT}]) == [SystemMessage("Be\nbrief.")]
    assert to_messages([{"role": "developer", "content": [TextPart("x"), "y"]}]) == [SystemMessage("x\ny")]
    refused = [{"type": "refusal", "refusal": "No."}]
    said = {"role": "assistant", "content": TEXT, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": [*TEXT, {"type": "image", "data": "aGk="}]}
    first, told, last = to_messages([said, result, {"role": "assistant", "content": refused}])
    assert first == AssistantMessage("Be\nbrief.", (ToolCall("c", "f"),), source=SENT_ALONG)
    assert told == ToolMessage("c", "f", 'Be\nbrief.\n{"type":"image","data":"aGk="}', source=SENT_ALONG)
    assert last == AssistantMessage("No.", source=SENT_ALONG)


@pytest.mark.parametrize("role", ["system", "assistant"])
@pytest.mark.parametrize("content", [[{"type": "image", "data": "aGk="}], {"a": 1}, [5], [{"type": "text"}]])
def test_what_is_no_text_is_refused_where_only_text_can_be(role: str, content: Any):
    with pytest.raises(ConfigError, match="a part that is no text"):
        to_messages([{"role": role, "content": content}])


@pytest.mark.parametrize("calls", [5, "x", {"id": "c"}, [5], [{"id": "c", "function": 5}], [None]])
def test_what_is_no_call_is_refused(calls: Any):
    with pytest.raises(ConfigError, match="a call of the history cannot be"):
        to_messages([{"role": "assistant", "content": "x", "tool_calls": calls}])
