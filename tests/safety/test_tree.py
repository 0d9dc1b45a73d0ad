"""The same value with other texts in it."""

from __future__ import annotations

from treadle._safety.tree import binary_field, rewritten
from treadle._types.messages import ImagePart, TextPart, UserMessage
from treadle._types.usage import Artifact


def test_every_text_is_given_and_nothing_else_changes():
    value = {"a": ["x", 1, None, ("x", {"x": True})], "m": UserMessage((TextPart("x"),))}
    changed = rewritten(value, lambda text: text.replace("x", "y"), binary_field)
    assert changed == {"a": ["y", 1, None, ("y", {"y": True})], "m": UserMessage((TextPart("y"),))}
    assert rewritten(value, lambda text: text, binary_field) is value


def test_files_are_no_texts():
    parts = (ImagePart(data="x", name="x"), Artifact("x", "x", base64=True), Artifact("x", "x"))
    picture, binary, text = rewritten(parts, lambda text: "y" if text == "x" else text, binary_field)
    assert (picture.data, picture.name) == ("x", "y")
    assert (binary.content, binary.name) == ("x", "y")
    assert text.content == "y"
