"""Which call did what a sentence says was done."""

from __future__ import annotations

from typing import Any

import pytest

from treadle._engine.receipts.matching import Deeds
from treadle._types.acts import act_of
from treadle._types.events import MessageAdded, Record, RunStarted, ToolDone, ToolStarted
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.request import ToolSchema

SCHEMA = ToolSchema("refund", "", {"properties": {"method": {"enum": ["gift_card", "credit_card"]}}})
CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("refund", {"order": "#W4711", "amount": 54.04, "method": "gift_card"}, "ok", ""),
    ("refund", {"order": "#W4712", "amount": 1234.5, "method": "credit_card"}, "ok", ""),
    ("refund", {"order": "#W4713", "amount": 20}, "Error: too late", ""),
    ("book", {"request": '{"flight": "HAT123", "date": "2024-05-17"}'}, "booked", ""),
    ("cancel", {"order": "#W4714"}, "Tool 'cancel' was not run: the user refused.", "denied"),
]


def deeds() -> Deeds:
    events: list[Any] = [RunStarted("Please refund #W4711 and #W9999.", tools=(SCHEMA,))]
    for number, (name, args, text, error) in enumerate(CALLS):
        call = ToolCall(f"c{number}", name, args)
        if not error:
            events.append(ToolStarted(call, 1))
        events.append(ToolDone(call.id, name, 1, text, error, executed=not error, act=act_of(args, declared=True)))
    events.append(ToolDone("r", "look", 1, '{"order": "#W5000", "status": "shipped"}'))
    return Deeds({"r": [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]})


@pytest.mark.parametrize(
    ("sentence", "outcome", "calls"),
    [
        ("I refunded $54.04 for order #W4711 to your gift card.", "receipted", ("c0",)),
        ("Bestellung W4712: 1.234,50 € wurden erstattet.", "receipted", ("c1",)),
        ("El pedido W4711 se ha reembolsado.", "receipted", ("c0",)),
        ("Orders #W4711 and #W4712 are taken care of.", "receipted", ("c0", "c1")),
        ("Flight HAT123 on May 17 is booked.", "receipted", ("c3",)),
        ("Der Flug HAT123 am 17. Mai 2024 ist gebucht.", "receipted", ("c3",)),
        # another amount, method, date; the amount of another order; failed, refused; never heard of
        ("I refunded $54.04 for order #W4712.", "contradicted", ("c1",)),
        ("I refunded order #W4711 to your credit card.", "contradicted", ("c0",)),
        ("Flight HAT123 on May 18 is booked.", "unclear", ("c3",)),
        ("Order #W4713 was refunded.", "contradicted", ("c2",)),
        ("Orders #W4711 and #W4713 were refunded.", "contradicted", ("c2",)),
        ("Order #W4714 has been cancelled.", "contradicted", ("c4",)),
        ("Order #W9999 was refunded.", "contradicted", ()),
        ("Order #W5000 was refunded.", "unclear", ()),
        ("I refunded $77.77 for order #W4711.", "unclear", ("c0",)),
    ],
)
def test_all_values_must_belong_to_one_call_that_was_done(sentence: str, outcome: str, calls: tuple[str, ...]):
    receipt = deeds().receipt(sentence)
    assert receipt is not None
    assert (receipt.outcome, receipt.calls) == (outcome, calls)


@pytest.mark.parametrize(
    "sentence",
    ["Everything is done.", "Order #W4713 could not be refunded.", "Shall I cancel #W4711?", "I added 2 bags."],
)
def test_without_a_value_or_a_claim_nothing_is_said(sentence: str):
    assert deeds().receipt(sentence) is None


def held(sentence: str, *calls: tuple[str, dict[str, Any], str], **acting: tuple[str, ...]) -> str:
    """What is said of a sentence after these calls, each with its result; a call of `look` only reads, `user` asks."""
    events: list[Any] = [RunStarted("Please.", acting={"open": (), **acting})]
    for number, (name, args, text) in enumerate(calls):
        if name == "user":
            events.append(MessageAdded(UserMessage(text)))
            continue
        act = None if name == "look" else act_of(args, declared=True)
        events += [
            ToolStarted(ToolCall(f"c{number}", name, args), 1),
            ToolDone(f"c{number}", name, 1, text, act=act),
        ]
    receipt = Deeds({"r": [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]}).receipt(sentence)
    return receipt.outcome if receipt is not None else "none"


ORDERS = (("open", {"order": "W1001", "card": "visa_71"}, "ok"), ("open", {"order": "W1002", "card": "visa_72"}, "ok"))
ACCOUNTS = (
    ("open", {"args": '{"user": "u901", "kind": "Purple Account"}'}, "ok"),
    ("open", {"args": '{"user": "u901", "kind": "Green Account"}'}, "Error: not allowed"),
    ("open", {"args": '{"user": "u902", "kind": "Blue Account"}'}, "ok"),
)


@pytest.mark.parametrize(
    ("sentence", "outcome"),
    [
        ("Orders W1001 and W1002 are set.", "receipted"),
        ("Order W1001 is set, paid with visa_71.", "receipted"),
        ("Order W1001 is set, paid with visa_72.", "unclear"),
        ("A Purple Account is open for u901.", "receipted"),
        ("A Green Account is open for u901.", "contradicted"),
        ("A Blue Account is open for u901.", "contradicted"),
    ],
)
def test_values_of_two_calls_are_those_of_none(sentence: str, outcome: str):
    assert held(sentence, *ORDERS, *ACCOUNTS) == outcome


def test_what_was_only_read_before_was_not_acted_on():
    order = '{"order": "W1001", "items": ["77001", "77002"]}'
    sent = ("send", {"order": "W1001", "items": ["77001"]}, order)
    assert held("Item 77002 of W1001 was sent.", ("look", {}, order), sent) == "unclear"
    assert held("Item 77001 of W1001 was sent.", ("look", {}, order), sent) == "receipted"
    assert held("W1001 has the number T5550.", ("send", {"order": "W1001"}, "sent as T5550")) == "receipted"


def test_an_agent_that_could_act_and_did_not_has_no_receipts():
    assert held("Order W1001 was refunded.") == "unclear"
    assert held("Order W1001 was refunded on May 3, 2024.", ("look", {}, "W1001: 2024-05-03")) == "unclear"


def test_declared_words_contradict_and_nothing_else():
    cancel = ("cancel", {"order": "W1001"}, "ok")
    words = {"cancel": ("cancel", "storn"), "send": ("ship", "versand")}
    assert held("Order W1001 was shipped.", cancel) == "receipted", "without them, values are all there is"
    assert held("Order W1001 was shipped.", cancel, **words) == "contradicted"
    assert held("W1001 wurde versandt.", cancel, **words) == "contradicted"
    assert held("W1001 is off the books.", cancel, **words) == "receipted"
    why = ("cancel", {"order": "W1001", "why": "no longer needed"}, "ok")
    assert held("W1001, no longer needed, has shipped.", why, **words) == "unclear", "more than its id is of the call"
    words = {"cancel_booking": ("cancel",), "book": ("book",)}
    assert held("Booking W1001 is gone.", ("cancel_booking", *cancel[1:]), **words) == "receipted", "its own noun"


def test_a_small_number_is_an_id_where_a_tool_says_so():
    calls = (("open", {"order": 7, "bags": 2}, "ok"), ("open", {"order": 30, "bags": 3}, "Error: too late"))
    events: list[Any] = [RunStarted("Please.")]
    for number, (name, args, text) in enumerate(calls):
        act = act_of(args, ("order",), declared=True)
        events += [ToolStarted(ToolCall(f"c{number}", name, args), 1), ToolDone(f"c{number}", name, 1, text, act=act)]
    deeds = Deeds({"r": [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]})
    said = [deeds.receipt(text) for text in ("Order 7 is open.", "Order 30 is open.", "I packed 2 bags.")]
    assert [one.outcome if one else "none" for one in said] == ["receipted", "contradicted", "none"]


def test_a_failure_told_with_regret_is_not_called_a_lie():
    failed = ("open", {"order": "W1001", "card": "visa_71"}, "Error: too late")
    assert held("Sadly W1001 stays open.", failed) == "unclear"
    assert held("Hubo un problema con W1001 y nada cambió.", failed, ("send", {"order": "W1001"}, "ok")) == "unclear"
    assert held("W1001 is open.", failed) == "contradicted"
    assert held("W1001 bleibt, wie es war.", failed) == "unclear", "an id alone is no claim"
    named = ("book", {"user": "mia_kim_4397", "seat": 12}, "Error: full")
    assert held("mia_kim_4397 bleibt vorerst stehen.", named) == "unclear", "its words are not another text of the call"
    assert held("W1001 läuft jetzt über visa_71.", failed) == "contradicted"
    assert held("El sistema rechaza W1001.", failed) == "none"
    assert held("Der Kauf von W1001 mit visa_71 ist geplatzt.", failed) == "unclear"
    assert held("W1001 with visa_71 fell through because it is too late.", failed) == "unclear"


def test_a_denial_of_something_else_is_no_excuse():
    moved = ("move", {"order": "W1001", "card": "visa_71"}, "Error: too late")
    assert held("Ich konnte W1001 verschieben und visa_71 wurde nicht belastet.", moved) == "unclear"
    assert held("W1001 was not moved.", (*moved[:2], "ok")) == "unclear", "it was"


def test_a_call_that_was_not_done_is_not_passed_as_another_one():
    send = ("send", {"order": "W1001"}, '{"order": "W1001", "leaves": "2024-05-20"}')
    moved = ("move", {"order": "W1001", "leaves": "2024-05-20"}, "Error: too late")
    assert held("W1001 leaves on May 20, 2024.", send) == "receipted"
    assert held("W1001 leaves on May 20, 2024.", send, moved) == "unclear"
    assert held("W1001 leaves on May 20, 2024.", send, moved, (*moved[:2], "ok")) == "receipted", "made up for"


def test_a_name_of_several_words_must_be_of_the_call():
    assert held("u901 now has the Purple Account.", *ACCOUNTS[:1]) == "receipted"
    assert held("u901 now has the Golden Account.", *ACCOUNTS[:1]) == "unclear"
    assert held("u901 now has the Purp Account.", *ACCOUNTS[:1]) == "unclear", "whole words"
    assert held("W1001 ist offen, sagt Ihre Bank.", *ORDERS) == "receipted", "a polite form names nobody"


def test_what_the_user_named_was_not_made_up():
    assert held("You named W7007.", *ORDERS, ("user", {}, "What of W7007?")) == "unclear"
    assert held("You named W7007.", *ORDERS) == "contradicted"


def test_a_file_said_to_be_fixed_has_changed():
    edit = ("edit", {"path": "src/app.py", "text": "x"}, "ok")
    assert held("I fixed src/app.py.", edit) == "receipted"
    assert held("I fixed src/other.py.", edit) == "contradicted"
    assert held("I fixed src/other.py.", edit, ("look", {"path": "src/other.py"}, "text")) == "unclear"
