"""A reply with slips, several calls, broken parts or invented observations."""

from __future__ import annotations

from itertools import product

from dialects.samples import CALL, NAMES, SHAPES, SLIPS, TEXT_NAMES, decode, executable
from kit import row


def test_slip():
    for dialect, slip in product(NAMES, SLIPS):
        with row(dialect, slip):
            assert executable(decode(dialect, SLIPS[slip])) == CALL


def test_guesses_are_marked():
    for dialect in NAMES:
        with row(dialect):
            assert not decode(dialect, SLIPS["trailing comma"]).repaired
            assert decode(dialect, SLIPS["no last bracket"]).repaired


def test_two_calls_are_two_calls():
    for dialect in NAMES:
        with row(dialect):
            two = f'{SHAPES["name/arguments"]}\n{{"name": "add", "arguments": {{"a": 1, "b": 2}}}}'
            assert executable(decode(dialect, two)) == [*CALL, ("add", {"a": 1, "b": 2})]


def test_a_broken_call_beside_a_good_one_is_reported():
    for dialect in TEXT_NAMES:
        with row(dialect):
            for rest, finish in (
                ('{"name": "add", "arguments": {"a": 1 "b"}}', "stop"),
                ('{"name": "add", "arguments": {"a": 1', "length"),
            ):
                decision = decode(dialect, f"{SHAPES['name/arguments']}\n{rest}", finish)
                assert executable(decision) == CALL
                assert [(call.name, bool(call.problem)) for call in decision.calls] == [
                    ("search", False),
                    ("add", True),
                ]


def test_of_a_call_and_an_answer_the_first_counts():
    for dialect in ["json", "schema", "array"]:
        with row(dialect):
            call, answer = SHAPES["tool_name/tool_args"], '{"type": "final_answer", "answer": "made up"}'
            first = decode(dialect, f"{call}\n{answer}")
            assert executable(first) == CALL
            assert first.answer is None
            assert decode(dialect, f"{answer}\n{call}").answer == "made up"


def test_calls_after_an_invented_observation_do_not_count():
    for dialect in ["json", "schema", "array", "action"]:
        with row(dialect):
            text = f'{SHAPES["tool/inputs"]}\nObservation: 12 pages\n{{"tool": "now", "inputs": {{}}}}'
            assert executable(decode(dialect, ("Action: " if dialect == "action" else "") + text)) == CALL


def test_prose_with_braces_is_not_a_call():
    for dialect in NAMES:
        with row(dialect):
            for text in (
                "Use {city} and {country}.",
                "A set {1, 2, 3} and a list [4, 5].",
                'The JSON {"a": 1} has one key.',
                "if (x) { search(query) }",
                "{search}",
                "search",
                "I could use search or add.",
                '{"search": "red pandas"}',
                "[search]",
            ):
                assert decode(dialect, text).calls == (), text


def test_inside_broken_json_nothing_is_a_call_of_its_own():
    for dialect in NAMES:
        with row(dialect):
            steps = '"steps": [{"name": "search", "arguments": {"query": "x"}}'
            assert not executable(decode(dialect, f'{{"name": "plan", "arguments": {{"say": "say "hi" twice", {steps}'))
            assert not executable(decode(dialect, f'{{"note": "x", {steps}]}}'))


def test_repair_is_the_last_resort_and_marked():
    for dialect in NAMES:
        with row(dialect):
            broken = '{"name": "search", "arguments": {"query": "the "big" one"}}'
            decision = decode(dialect, broken)
            assert executable(decision) == [("search", {"query": 'the "big" one'})]
            assert decision.repaired
            assert decision.calls[0].raw
            assert not executable(decode(dialect, broken, "length"))
