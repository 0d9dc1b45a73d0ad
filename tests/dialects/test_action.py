"""`action`: prose that ends in an Action line, the older two-line form, and answers between markers."""

from __future__ import annotations

from dialects.samples import ADD, ARGS, CALL, SEARCH, decode, executable
from treadle._dialects.registry import get_dialect
from treadle._types.profile import Profile

GRAMMAR = Profile(json_schema=True, grammar=True)


def test_the_action_grammar_names_the_tools():
    encoding = get_dialect("action").encode((SEARCH, ADD), GRAMMAR)
    assert encoding.format is not None
    assert encoding.format.kind == "grammar"
    assert '"\\"search\\"" | "\\"add\\""' in encoding.format.grammar
    forced = get_dialect("action").encode((SEARCH,), GRAMMAR, must_answer=True).format
    assert forced is not None
    assert "search" not in forced.grammar
    assert "__final_answer__" in forced.grammar


def test_action_reads_the_older_form():
    assert executable(decode("action", f"Thought: look\nAction: search\nAction Input: {ARGS}")) == CALL
    assert executable(decode("action", "Thought: look\nAction: search\nAction Input: red pandas")) == [
        ("search", {"query": "red pandas"})
    ]
    assert decode("action", "Thought: look\nAction: search\nAction Input: red pan", "length").problem
    assert executable(decode("action", "Action: now")) == [("now", {})]
    assert decode("action", "Action: search").problem
    assert decode("action", "Thought: known\nFinal Answer: Paris").answer == "Paris"


def test_action_without_an_action_is_an_answer():
    for text in (
        "Paris is the capital.",
        'Use {"a": 1} for that.',
        f"Like {ARGS} for example.",
        "The Action: line is part of my format.",
    ):
        assert decode("action", text).answer == text
    assert decode("action", "").problem
    assert decode("action", "Thought: I know it.\n\nParis").answer == "I know it.\n\nParis"


def test_action_null_means_no_tool():
    for action in (
        '{"tool": null, "inputs": {}, "final_answer": true}',
        '{"tool": null, "inputs": {}, "final_answer": false}',
        "None",
        '{"tool": "none"}',
    ):
        decision = decode("action", f"Paris.\nAction: {action}")
        assert decision.answer == "Paris.", action
        assert decision.calls == ()
    assert decode("action", 'Action: {"tool": null, "inputs": {}, "final_answer": true}').problem


def test_the_flag_of_an_action_never_ends_anything():
    decision = decode("action", f'Action: {{"tool": "search", "inputs": {ARGS}, "final_answer": true}}')
    assert executable(decision) == CALL
    assert decision.answer is None


def test_action_markers():
    assert decode("action", "hm <__final_answer__>Paris").answer == "Paris"
    decision = decode("action", "hm <__final_answer__>Paris</__final_answer__> Anything else?")
    assert decision.answer == "Paris"
    assert decision.thought == "hm"
    quoted = decode(
        "action", f'<__final_answer__>Write Action: {{"tool": "search", "inputs": {ARGS}}}</__final_answer__>'
    )
    assert quoted.calls == ()
    assert quoted.answer is not None
    both = decode(
        "action", f'Action: {{"tool": "search", "inputs": {ARGS}}}\n<__final_answer__>soon</__final_answer__>'
    )
    assert executable(both) == CALL
    assert both.answer == "soon"
    inside = decode("action", 'Action: {"tool": "search", "inputs": {"query": "<__final_answer__>"}}')
    assert executable(inside) == [("search", {"query": "<__final_answer__>"})]


def test_action_labels_in_the_wild():
    for label in ("**Action:** ", "Action:\n", "### Action: ", "Action:\n```json\n"):
        assert executable(decode("action", f'look\n{label}{{"tool": "search", "inputs": {ARGS}}}')) == CALL, label
    assert decode("action", 'look\nAction: {"tool": "search", "inputs": {"query"').problem
    assert decode("action", "look\nAction: I will search for red pandas").problem
