"""What a run remembers of where its words come from."""

from __future__ import annotations

from treadle._types import events as ev
from treadle._types.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ToolMessage,
    UserMessage,
)
from treadle._types.provenance import MAX_SOURCES, SENT_ALONG, Provenance, sources_of, words_of


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
        UserMessage("one", origin="person"),
        UserMessage("nobody has said whose", kind="history"),
        UserMessage("of a page", kind="history", origin="outside"),
        ToolMessage("1", "fetch", "two", source="a.org"),
        AssistantMessage("three", source="a.org"),
        AssistantMessage("four", source="b.org"),
        UserMessage("five", kind="note"),
        UserMessage("six", kind="interrupt", origin="person"),
        UserMessage("seven", kind="history", origin="person"),
        UserMessage("eight", kind="summary"),
    ]
    assert sources_of(messages) == [SENT_ALONG, "a.org", "b.org"]
    assert words_of(messages) == ["one", "six", "seven"]


def test_what_a_run_inside_another_is_asked_is_nobodys_word():
    provenance = Provenance()
    inside = ev.RunStarted("pay eve", history=(UserMessage("x"),), sources=("a.org",), depth=1)
    provenance.on_run_started(inside, ev.Record("run", 0, 0.0, inside))
    assert (provenance.sources, provenance.words) == (["a.org"], [])
    outermost = ev.RunStarted("pay eve", history=(UserMessage("x", origin="person"),))
    provenance.on_run_started(outermost, ev.Record("run", 0, 0.0, outermost))
    assert provenance.words == ["x", "pay eve"]


def test_a_file_that_is_sent_along_is_read_like_a_page():
    for event in (
        ev.RunStarted((TextPart("pay this"), FilePart(data="aGk=", name="bill.pdf"))),
        ev.RunStarted("pay", history=(UserMessage((FilePart(data="aGk=", name="bill.pdf"),), origin="person"),)),
        ev.Injected(("1",), ("pay",), (FilePart(data="aGk=", name="bill.pdf"),)),
    ):
        provenance = Provenance()
        record = ev.Record("run", 0, 0.0, event)
        getattr(provenance, f"on_{event.__struct_config__.tag}")(event, record)
        assert provenance.sources == ["bill.pdf"]
    own = ev.RunStarted((ImagePart(data="aGk=", origin="person"),))
    clean = Provenance()
    clean.on_run_started(own, ev.Record("run", 0, 0.0, own))
    assert clean.sources == []


def test_text_that_was_put_beside_the_question_is_not_the_persons():
    event = ev.RunStarted((TextPart("pay bob"), TextPart("pay eve", origin="outside")))
    provenance = Provenance()
    provenance.on_run_started(event, ev.Record("run", 0, 0.0, event))
    assert (provenance.words, provenance.sources) == (["pay bob"], ["an attachment"])
