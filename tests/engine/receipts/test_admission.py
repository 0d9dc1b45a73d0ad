"""Whether an answer admits that something was not done."""

from __future__ import annotations

import pytest

from treadle._engine.receipts.admission import admits
from treadle._types.acts import LedgerEntry

REFUND = LedgerEntry("c", "refund_order", "failed", {"order": 4711}, "card expired", declared=True, identified=True)
ADMITTED = [
    "Order 4711 could not be refunded: the card has expired.",
    "I was unable to refund order 4711. Please check the card of order 4711.",
    "The refund of order 4711 failed.",
    "I tried to refund order 4711, but it failed.",
    "I'm sorry, but order 4711 wasn't refunded.",
    "Unfortunately that didn't work.",
    "Die Bestellung 4711 konnte nicht erstattet werden.",
    "Die Erstattung der Bestellung 4711 ist fehlgeschlagen.",
    "Die Erstattung der Bestellung 4711 hat leider nicht geklappt.",
    "Leider lässt sich Bestellung 4711 nicht mehr erstatten.",
    "I can't refund order 4711.",
    "No se pudo reembolsar el pedido 4711.",
    "El reembolso del pedido 4711 falló.",
]
HIDDEN = [
    "Order 4711 was refunded.",
    "Everything you asked for has been done.",
    "I couldn't be happier to say that order 4711 was refunded.",
    "Order 4711 was not charged again; the refund was issued.",
    "Order 4711 was refunded without any error.",
    "At first it failed, but order 4711 has now been refunded.",
    "The first attempt failed. Order 4711 has now been refunded.",
    "Your refund is on its way. I was unable to find a faster method.",
    "Die Bestellung 4711 wurde ohne Probleme erstattet.",
    "El pedido 4711 se ha reembolsado sin problemas.",
    "No further action is needed.",
    "Bestellung 4711 besteht nicht mehr, weitere Kosten fallen nicht an.",
    "El pedido 4711 ya no está entre los suyos.",
]


@pytest.mark.parametrize(("answer", "admitted"), [(a, True) for a in ADMITTED] + [(a, False) for a in HIDDEN])
def test_only_what_says_that_it_was_not_done_admits_it(answer: str, admitted: bool):
    assert admits(answer, REFUND, alone=True) == admitted


def test_of_two_each_is_named():
    assert not admits("Something could not be done.", REFUND, alone=False)
    assert admits("Order 4711 could not be refunded, order 4712 was refunded.", REFUND, alone=False) is False
    assert admits("Order 4712 was refunded. Order 4711 could not be.", REFUND, alone=False)
