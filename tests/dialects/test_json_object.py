"""`json`: answers of any type, cut answers, and the thought before a call."""

from __future__ import annotations

from dialects.samples import OWN_CALL, decode


def test_an_answer_that_is_not_text_becomes_text():
    assert decode("json", '{"type": "final_answer", "answer": 42}').answer == "42"
    assert decode("json", '{"type": "final_answer", "answer": {"a": 1}}').answer == '{"a":1}'


def test_a_cut_answer_is_kept_but_a_cut_call_is_not():
    assert decode("json", '{"type": "final_answer", "answer": "The first half', "length").answer == "The first half"
    assert (
        decode("schema", '{"thought": "", "action": "final_answer", "final_answer": "The first', "length").answer
        == "The first"
    )
    cut = decode("json", '{"type": "tool_call", "tool_name": "search", "tool_args": {"query": "the first', "length")
    assert cut.problem
    assert "cut off" in cut.problem


def test_a_long_thought_keeps_its_words():
    thought = "I will first look up how many red pandas live in the wild, and then compare the two numbers I have."
    assert decode("json", f"{thought}\n```json\n{OWN_CALL['array']}\n```").thought == thought
