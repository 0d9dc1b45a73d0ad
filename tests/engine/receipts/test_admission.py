"""Whether an answer admits that something was not done."""

from __future__ import annotations

from typing import Any

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


def failed(tool: str, **args: Any) -> LedgerEntry:
    return LedgerEntry("c", tool, "failed", args, "Error: it is not allowed any more", declared=True)


CALLS = {
    "card": failed("freeze_card", card_id="dbc_77"),
    "order": failed("refund_order", order_id="W4711", amount=30),
    "charge": failed("file_dispute", transaction_id="tx_81", purchase_date="05/03/2024"),
    "item": failed("exchange_items", item_ids="i_101", new_item_ids="i_102"),
    "account": failed("call_tool", name="close_account_7788", account_id="chk_55", limit=22500),
    "trip": failed("cancel_reservation", reservation_id="ZFA04Y"),
}
DENYING_ELSE = {
    "card": """dbc_77 can't be used for payments until you call us.
        Card dbc_77 is frozen, so nobody can pay with it any more.
        Mit dbc_77 kann ab sofort nicht mehr bezahlt werden.
        Zahlungen mit dbc_77 sind nicht mehr möglich, weil die Karte gesperrt ist.
        La tarjeta dbc_77 no se puede usar hasta nuevo aviso.""",
    "order": """You were not charged a fee for the refund of $30 on W4711.
        W4711 is settled, and I could not find any other open order.
        The declined payment of $30 on W4711 is back in your account.
        I refunded W4711, which did not reach you.
        At first W4711 failed. Now everything is done.
        All done! I couldn't speed it up.
        Ich konnte W4711 erstatten und Ihnen entstehen keine Kosten.
        Für W4711 wurde Ihnen nichts berechnet, das Geld ist zurück.
        W4711 ist nicht angekommen. Das Geld habe ich überwiesen.
        W4711 quedó reembolsado y no se le cobró ninguna comisión.
        El pedido W4711, que no llegó, está reembolsado.""",
    "charge": """The charge tx_81 you did not make is now under dispute.
        The billing error on tx_81 has been reported.
        Die Abbuchung tx_81, die Sie nicht getätigt haben, ist beanstandet.
        El cargo tx_81 que usted no hizo ya está en disputa.""",
    "item": """Der Wechsel auf i_102 wurde erst abgelehnt, i_101 ist über den Händler getauscht.
        I swapped i_101, which didn't work, for i_102.
        Der Artikel i_101, der nicht funktionierte, ist gegen i_102 getauscht.
        Der leider defekte Artikel i_101 ist gegen i_102 getauscht.
        El artículo i_101 que no le quedó bien se cambió por i_102.""",
    "account": """chk_55 no longer exists.
        Von chk_55 lässt sich nichts mehr abbuchen.
        Die Kündigung von chk_55 ist wirksam, Buchungen sind dort nicht mehr möglich.
        La cuenta chk_55 está cerrada y no puede recibir más pagos.""",
    "trip": """ZFA04Y has been cancelled, and the airline did not object.
        I couldn't agree more, so ZFA04Y is cancelled.
        ZFA04Y wurde storniert, Gebühren sind dabei nicht angefallen.
        Die Reise ZFA04Y findet nicht statt, sie ist storniert.""",
}
ADMITTING = {
    "card": """dbc_77 is not frozen: the request failed.
        Ich darf dbc_77 nicht sperren.
        El bloqueo de dbc_77 fue denegado.""",
    "order": """I tried to refund W4711, but it failed.
        Unfortunately, W4711 stays as it is.
        W4711: it is not allowed any more.
        I looked at W4711, which you placed last week. The refund of W4711 was declined.
        W4711 remains open; the bank declined.
        Leider bleibt W4711 unbezahlt.
        Die 30 US-Dollar durfte ich nicht erstatten.
        El pedido W4711 no se reembolsó.""",
    "charge": """Der Kauf vom 3. Mai 2024 konnte nicht reklamiert werden.
        tx_81 wurde nicht reklamiert.
        No logré abrir la disputa de tx_81.""",
    "item": """Der Tausch von i_101 gegen i_102 ist gescheitert.
        El cambio de i_101 por i_102 no fue posible.""",
    "account": """I cannot approve $22,500.
        chk_55 was not closed.
        chk_55 no se cerró.""",
    "trip": """I can't cancel ZFA04Y.
        ZFA04Y ließ sich nicht mehr stornieren.
        La cancelación de ZFA04Y falló.""",
}


@pytest.mark.parametrize(("about", "lines"), DENYING_ELSE.items())
def test_a_denial_of_something_else_admits_nothing(about: str, lines: str):
    assert [line for line in lines.splitlines() if admits(line.strip(), CALLS[about], alone=True)] == []


@pytest.mark.parametrize(("about", "lines"), ADMITTING.items())
def test_a_value_and_a_failure_in_one_clause_admit_it(about: str, lines: str):
    assert [line for line in lines.splitlines() if not admits(line.strip(), CALLS[about], alone=True)] == []


def test_the_words_of_the_call_are_no_failure():
    assert not admits("Request W4711 was rejected.", failed("reject_request", request="W4711"), alone=True)


def test_of_two_each_is_named():
    assert not admits("Something could not be done.", REFUND, alone=False)
    assert admits("Order 4711 could not be refunded, order 4712 was refunded.", REFUND, alone=False) is False
    assert admits("Order 4712 was refunded. Order 4711 could not be.", REFUND, alone=False)
