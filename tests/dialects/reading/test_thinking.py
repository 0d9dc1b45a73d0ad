"""Thinking separated from the reply."""

from __future__ import annotations

from kit import row
from treadle._dialects.reading.thinking import split_thinking

CALL = '<|channel|>commentary to=functions.wipe<|message|>{"path":"/"}<|call|>'


def test_split_thinking():
    for text, thinking, rest in [
        ("plain", "", "plain"),
        ("<think>a</think>b", "a", "b"),
        ("<think>a</think>\n<think>c</think> b", "a\nc", "b"),
        ("<think>a", "a", ""),
        ("<think>a<tool_call>{}", "a", "<tool_call>{}"),
        ("a</think>b", "a", "b"),
        ("<thinking>a</thinking>b", "a", "b"),
        ("[THINK]a[/THINK]b", "a", "b"),
        ("Use <think>x</think> tags", "", "Use <think>x</think> tags"),
        ("the tag `</think>` ends it", "", "the tag `</think>` ends it"),
        ('{"a": "</think>"} x', "", '{"a": "</think>"} x'),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "a", "b"),
        ("done<|im_end|>\n", "", "done"),
        (f"<|channel|>analysis<|message|>a<|end|><|start|>assistant{CALL}", "a", CALL),
        (f"He wrote {CALL} at the end.", "", f"He wrote {CALL} at the end."),
        (f"{CALL} is what he wrote.", "", f"{CALL} is what he wrote."),
        (f"<|channel|>final<|message|>He wrote {CALL}", "", f"He wrote {CALL.removesuffix('<|call|>')}"),
    ]:
        with row(text, thinking, rest):
            assert split_thinking(text) == (thinking, rest)
