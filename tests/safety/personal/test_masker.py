"""Masking and restoring texts, values and events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strategies import values_of
from treadle._safety.personal.kinds import Finder
from treadle._safety.personal.masker import LEFT_OUT, Masker, open_from
from treadle._safety.personal.vault import Vault
from treadle._types import events as ev
from treadle._types.messages import FilePart, ImagePart, TextPart, ToolCall, UserMessage
from treadle._types.request import ToolSchema


def masker(**options: bool) -> Masker:
    return Masker(Finder(names=["Anna", "EMAIL"]), Vault(), **options)


def test_names_and_ids_stay_and_everything_else_is_masked():
    made = masker()
    call = ToolCall("Anna", "Anna", {"Anna": ["Anna", 3]})
    event = ev.ThinkDone("Anna", 1, ev.AssistantMessage("Anna", (call,)), answer="Anna")
    masked = made.tree(event)
    assert masked.component == "Anna"
    assert (masked.message.calls[0].id, masked.message.calls[0].name) == ("Anna", "Anna")
    assert "Anna" not in str(masked.message.calls[0].args) + masked.message.text + str(masked.answer)
    started = ev.RunStarted("Anna", user="Anna", tools=(ToolSchema("Anna", "for Anna", {}),))
    masked_start = made.tree(started)
    assert (masked_start.user, masked_start.tools[0].name) == ("Anna", "Anna")
    assert "Anna" not in str(masked_start.question) + masked_start.tools[0].description
    assert made.masked["name"] == 6


def test_what_is_masked_stays_as_it_is():
    made = masker()
    once = made.text("EMAIL Anna a@example.org")
    assert made.text(once) == once
    assert made.restored(once) == "EMAIL Anna a@example.org"
    assert made.unknown([once]) == ""
    assert made.unknown({"x": "[NAME_bcdfghj]"}) == "[NAME_bcdfghj]"


@given(st.text(max_size=80))
def test_restoring_gives_the_text_back(text: str):
    made = Masker(Finder(), Vault())
    assert made.restored(made.text(f"{text} a@example.org")) == f"{text} a@example.org"


@given(values_of(ev.Event))
def test_every_event_can_be_masked(event: ev.Event):
    masked = masker().tree(event)
    assert type(masked) is type(event)
    ev.encode_event(masked)


def test_what_nobody_can_look_into_is_left_out():
    picture = ImagePart(data="aGk=", name="Anna.png")
    file = FilePart(data="aGk=", name="notes.txt", text="of Anna")
    made = masker()
    (left, read) = made.tree(UserMessage((picture, file))).content
    assert isinstance(left, TextPart)
    assert left.text == made.text(LEFT_OUT.format("Anna.png"))
    assert isinstance(read, TextPart)
    assert read.text.startswith("notes.txt:\nof [NAME_")
    injected = made.tree(ev.Injected(("1",), ("hi",), (picture,)))
    assert injected.media == ()
    assert len(injected.texts) == 2
    kept = masker(media=True).tree(UserMessage((picture,))).content[0]
    assert isinstance(kept, ImagePart)
    assert (kept.data, kept.name.startswith("[NAME_")) == ("aGk=", True)


def test_where_a_placeholder_may_begin():
    for text, start in (("a [", 2), ("a [EMAIL_bcd", 2), ("a [no", 2), ("a [no]", 6), ("[ID:1] ok", 9), ("[x y", 4)):
        assert open_from(text) == start, text
