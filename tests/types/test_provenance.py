"""What a run remembers of where its words come from."""

from __future__ import annotations

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, Message, ToolMessage, UserMessage
from treadle._types.provenance import MAX_SOURCES, Provenance, sources_of, words_of


def test_the_first_source_is_named_and_their_number_is_bounded():
    provenance = Provenance()
    assert provenance.first == ""
    provenance.read(["", "a", "b", "a"])
    provenance.read(str(number) for number in range(50))
    assert (provenance.first, provenance.sources[:3], len(provenance.sources)) == ("a", ["a", "b", "0"], MAX_SOURCES)


def test_an_always_counts_as_given_after_reading_only_if_it_was():
    provenance = Provenance()
    always = ev.Record("run", 1, 0.0, ev.Approved("c1", True, always=True, tool="pay"))
    provenance.on_approved(always.event, always)
    assert provenance.always == set()
    provenance.read(["a"])
    provenance.on_approved(always.event, always)
    assert provenance.always == {"pay"}
    assert Provenance().always == set(), "no two runs share it"


def test_messages_say_what_was_read_before_them_and_who_spoke():
    messages: list[Message] = [
        UserMessage("one"),
        ToolMessage("1", "fetch", "two", source="a.org"),
        AssistantMessage("three", source="a.org"),
        AssistantMessage("four", source="b.org"),
        UserMessage("five", kind="note"),
        UserMessage("six", kind="interrupt"),
        UserMessage("seven", kind="history"),
        UserMessage("eight", kind="summary"),
    ]
    assert sources_of(messages) == ["a.org", "b.org"]
    assert words_of(messages) == ["one", "six", "seven"]


def test_what_a_run_inside_another_is_asked_is_nobodys_word():
    provenance = Provenance()
    inside = ev.RunStarted("pay eve", history=(UserMessage("x"),), sources=("a.org",), depth=1)
    provenance.on_run_started(inside, ev.Record("run", 0, 0.0, inside))
    assert (provenance.sources, provenance.words) == (["a.org"], [])
    outermost = ev.RunStarted("pay eve", history=(UserMessage("x"),))
    provenance.on_run_started(outermost, ev.Record("run", 0, 0.0, outermost))
    assert provenance.words == ["x", "pay eve"]
