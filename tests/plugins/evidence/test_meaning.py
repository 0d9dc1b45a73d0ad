"""Supported, contradicted, or only words match: false sentences made of a source's own words, and true ones."""

from __future__ import annotations

import pytest

from plugins.evidence.test_support import log
from treadle._plugins.evidence.meaning import compare
from treadle._plugins.evidence.support import claims_of, support_of
from treadle._plugins.evidence.words import sentences
from treadle._types.events import RunStarted, ToolDone

NOTES = (
    "The board rejected the offer of the union. Karin Dahl succeeded Per Moen as director. Revenue rose from 41.2 to "
    "48.9 million kroner in 2025. The profit was 39.7 million kroner. The company has 214 employees. 37 people work "
    "part time. Some employees work from home. The new office opened on 1 August 2025. If the permit comes, the plant "
    "will open in 2027. The fee is 500 dollars. The fund did not accept the terms."
)
LOGS = log(RunStarted("Tell me about the company."), ToolDone("c", "read", 1, NOTES))
FALSE = [
    "The board accepted the offer of the union.",
    "The union rejected the offer of the board.",
    "Per Moen succeeded Karin Dahl as director.",
    "The profit was 39.7 thousand kroner.",
    "The profit was 48.9 million kroner.",
    "Revenue fell from 41.2 to 48.9 million kroner.",
    "Revenue rose from 48.9 to 41.2 million kroner.",
    "All 214 employees work part time.",
    "All employees work from home.",
    "No employees work from home.",
    "The fee is 500 euros.",
    "The plant will open in 2027.",
    "The plant opened in 2027.",
    "The fund accepted the terms.",
    "The company has 37 employees.",
    "The company does not have 214 employees.",
    "214 people work part time.",
    "The new office opened on 2 August 2025.",
    "Karin Dahl rejected the offer.",
    "The profit rose to 39.7 million kroner.",
]
SUPPORTED = [
    "The board rejected the offer.",
    "Karin Dahl succeeded Per Moen.",
    "The profit was 39,700,000 kroner.",
    "The new office opened on 2025-08-01.",
    "The new office opened on August 1, 2025.",
    "Thirty-seven people work part time.",
    "The fee is $500.",
    "Revenue rose to 48.9 million kroner.",
    "Some employees work from home.",
    "The fund did not accept the terms.",
]
OPEN = [
    "The board did not accept the offer.",
    "The company employs 214 people.",
    "Per Moen was succeeded by Karin Dahl.",
    "The plant opens in 2027 if the permit comes.",
    "Not all employees work from home.",
    "The fee is 500 US dollars.",
]


@pytest.mark.parametrize("sentence", FALSE)
def test_nothing_false_is_supported(sentence: str):
    (claim,) = claims_of(sentence, LOGS)
    assert claim.status in ("contradicted", "words", "unsupported")


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_numbers_dates_and_shorter_sentences_are_supported(sentence: str):
    (claim,) = claims_of(sentence, LOGS)
    assert (claim.status, claim.why) == ("supported", "")


@pytest.mark.parametrize("sentence", OPEN)
def test_what_is_true_in_other_words_is_not_contradicted(sentence: str):
    (claim,) = claims_of(sentence, LOGS)
    assert (claim.status, claim.why) == ("words", "")


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Karin Dahl succeeded Anna Moen.", "Anna Moen succeeded Karin Dahl."),
        ("Revenue fell to 48 million.", "Revenue rose to 48 million."),
        ("The fee is 500 euros.", "The fee is 500 dollars."),
        ("All members voted.", "Some members voted."),
        ("The keeper lived there in winter.", "The keeper did not live there in winter."),
        ("The office opened on 2 May 2025.", "The office opened on 1 May 2025."),
        ("It has 30 rooms.", "It has 31 rooms."),
    ],
)
def test_the_opposite_is_contradicted_in_both_directions(sentence: str, passage: str):
    assert compare(sentence, passage) == "contradicted"
    assert compare(passage, passage) == "supported"


def test_who_is_named_by_the_title_is_meant():
    assert compare("Anna Weber was born in Graz in 1931.", "She was born in Graz in 1931.", "Anna Weber") == "supported"
    assert support_of("Anna Weber was born in Graz in 1932.", [("Anna Weber", "She was born in Graz in 1931.")])


def test_a_false_sentence_loses_its_citation():
    source = [("Nordlys", NOTES)]
    contradicted = [sentence for sentence in FALSE if claims_of(sentence, LOGS)[0].status == "contradicted"]
    assert len(contradicted) >= 6
    assert all(support_of(sentence, source) for sentence in contradicted)


@pytest.mark.parametrize(
    ("passage", "sentence"),
    [
        ("Falls es regnet, schließt die Bank.", "Die Bank schließt."),
        ("Anna Berg verkaufte die Lampen nicht.", "Anna Berg verkaufte die Lampen."),
        ("Si llueve, el banco cerrará.", "El banco cerrará."),
        ("Ana Ruiz nunca vendió las lámparas.", "Ana Ruiz vendió las lámparas."),
        ("De los 80 invitados en Lugo, 30 llegaron en tren.", "80 invitados en Lugo llegaron en tren."),
        ("Einige Gäste kamen aus Graz.", "Alle Gäste kamen aus Graz."),
    ],
)
def test_denials_conditions_and_counts_are_read_in_german_and_spanish_too(passage: str, sentence: str):
    assert compare(sentence, passage) != "supported"


def test_the_day_of_a_german_date_ends_no_sentence():
    text = "Der Kauf vom 9. Oktober 2025 wurde gemeldet. Es waren 9. Danach kam nichts."
    assert [one.text for one in sentences(text)] == [
        "Der Kauf vom 9. Oktober 2025 wurde gemeldet.", "Es waren 9.", "Danach kam nichts."
    ]  # fmt: skip
