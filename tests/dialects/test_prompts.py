"""The prompt texts: they explain tools and format, their examples can be read, and each can be replaced."""

from __future__ import annotations

from dialects.samples import NOW, TEXT_NAMES, THOUGHTLESS, TOOLS, WORKED, decode
from kit import row
from treadle._dialects.base import Decision, Prompts
from treadle._dialects.registry import get_dialect
from treadle._dialects.text import TextDialect


def test_the_prompt_explains_tools_and_form():
    for name in TEXT_NAMES:
        with row(name):
            dialect = get_dialect(name)
            text = dialect.system("Be brief.", TOOLS, Prompts())
            assert text.startswith("Be brief.\n\n")
            assert "search(query: string, limit?: integer): Find pages about something." in text
            assert "query: what to look for" in text
            assert "{tools}" not in text
            assert "{examples}" not in text
            assert "{complete}" not in text
            assert len(dialect.system("", (NOW,), Prompts()).split()) < 330
            assert dialect.system("", (), Prompts()).count("none: answer directly") == 1


def test_the_examples_in_the_prompt_are_readable_in_the_dialect():
    for name in WORKED:
        with row(name):
            dialect = get_dialect(name)
            assert isinstance(dialect, TextDialect)
            text = dialect.system("", TOOLS, Prompts())
            shown = text.split("Examples (the tools in them are not yours):\n")[1].split("\n\nYour tools:")[0]
            decisions: list[Decision] = []
            for given, *_ in reversed(dialect.worked_examples):
                shown, _, reply = shown.rpartition(f"{given} -> ")
                decisions.insert(0, decode(name, reply.strip()))
            assert [[(call.name, call.args) for call in decision.calls] for decision in decisions] == [
                [(tool, args)] if tool else [] for _, _, tool, args in dialect.worked_examples
            ]
            assert [decision.answer for decision in decisions] == [
                None if tool else answer for _, _, tool, answer in dialect.worked_examples
            ]
            if name not in THOUGHTLESS:
                assert [decision.thought for decision in decisions] == [
                    thought for _, thought, _, _ in dialect.worked_examples
                ]


def test_what_stands_before_the_tools_is_the_same_for_every_agent():
    for name in WORKED:
        with row(name):
            one, other = (get_dialect(name).system("", tools, Prompts()) for tools in (TOOLS, (NOW,)))
            head = one[: one.index("- search(")]
            assert other.startswith(head)
            assert len(head) > 0.7 * len(other)


def test_prompts_can_be_replaced():
    for name in TEXT_NAMES:
        with row(name):
            dialect = get_dialect(name)
            assert dialect.system("", TOOLS, Prompts({f"dialect.{name}": "Mine: {tools}"})).startswith(
                "Mine: - search("
            )
            assert dialect.reformat("bad", Prompts({f"dialect.{name}.reformat": "Hm, {problem}"})) == "Hm, bad"


def test_reformat_offers_a_call_and_an_answer_in_the_dialects_own_form():
    for name in TEXT_NAMES:
        with row(name):
            text = get_dialect(name).reformat("the JSON is broken.", Prompts())
            assert "the JSON is broken." in text
            forms = [line for line in text.splitlines() if line.startswith(("{", "[", "Action:", "<__"))]
            assert len(forms) == 2
            assert "{...}" in forms[0]
            assert decode(name, forms[1]).answer == "the answer"
