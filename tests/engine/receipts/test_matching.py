"""Which call did what a sentence says was done."""

from __future__ import annotations

from typing import Any

import pytest

from treadle._engine.receipts.matching import Deeds
from treadle._types.acts import act_of
from treadle._types.events import Record, RunStarted, ToolDone, ToolStarted
from treadle._types.messages import ToolCall
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
