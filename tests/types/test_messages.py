"""Messages are values: they compare, survive JSON and cannot be changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import values_of
from treadle._types.messages import (
    AssistantMessage,
    Content,
    ImagePart,
    MediaPart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    join_content,
    text_of,
)

IMAGE = ImagePart(data="aGk=")
contents = values_of(Content)


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (SystemMessage("be brief"), {"role": "system", "text": "be brief"}),
        (UserMessage("hi"), {"role": "user", "content": "hi"}),
        (
            UserMessage((TextPart("what is this?"), ImagePart(url="http://x/a.png")), kind="note", pinned=True),
            {
                "role": "user",
                "content": [{"type": "text", "text": "what is this?"}, {"type": "image", "url": "http://x/a.png"}],
                "kind": "note",
                "pinned": True,
            },
        ),
        (
            AssistantMessage(calls=(ToolCall("c1", "add", {"a": 1}),)),
            {"role": "assistant", "calls": [{"id": "c1", "name": "add", "args": {"a": 1}}]},
        ),
        (
            ToolMessage("c1", "add", "3", error=True),
            {"role": "tool", "call_id": "c1", "name": "add", "content": "3", "error": True},
        ),
    ],
    ids=["system", "user", "parts", "assistant", "tool"],
)
def test_the_stored_shape_leaves_out_what_is_usual(message: Message, written: dict[str, Any]):
    """Journals hold these shapes: a change needs an upcaster."""
    assert msgspec.json.decode(msgspec.json.encode(message)) == written


@settings(max_examples=30)
@given(contents)
def test_text_of_holds_all_text_and_no_image(content: Content):
    text = text_of(content)
    if isinstance(content, str):
        assert text == content
    else:
        assert text == "\n".join(part.text for part in content if isinstance(part, TextPart))


def test_text_of_images_alone_is_empty():
    assert text_of((IMAGE, IMAGE)) == text_of(()) == ""


def test_joined_texts_are_a_plain_string():
    assert join_content(["one", (TextPart("two"), TextPart("three"))]) == "one\n\ntwo\n\nthree"
    assert join_content([]) == ""
    assert join_content(["only"]) == "only"


def test_with_an_image_all_parts_are_kept_in_order():
    assert join_content(["look", (IMAGE,), "well?"]) == (TextPart("look"), IMAGE, TextPart("well?"))


@settings(max_examples=40)
@given(st.lists(contents, max_size=4))
def test_joining_loses_nothing(parts: list[Content]):
    joined = join_content(parts)
    media = [
        part for content in parts if not isinstance(content, str) for part in content if isinstance(part, MediaPart)
    ]
    assert [p for p in joined if isinstance(p, MediaPart)] == media if media else isinstance(joined, str)
    words = [word for content in parts for word in text_of(content).split()]
    assert text_of(joined).split() == words
