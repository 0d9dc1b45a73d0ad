"""What a model did right and wrong at the same place."""

from __future__ import annotations

import random

from training_kit import conversations as _on_the_path  # noqa: F401

from training import pairs  # isort: skip
from training.pairs import Pair, Place
from training.render import Conversation, Turn, written
from training.scenario import Act, Leave, Say

LAMP = written(Act("price", {"lamp": "L-204", "pieces": 2}))
OTHER = written(Act("price", {"lamp": "L-205", "pieces": 2}))
PLACE = Place("single", "Two of L-204?", LAMP)


def pair(place: Place, *said: str) -> Pair | None:
    return pairs.pair(random.Random(1), place, said)


def test_what_is_learnt_is_asked():
    turns = [Turn("one", LAMP, True), Turn("two", OTHER, False)]
    assert pairs.places([Conversation("single", turns)]) == [Place("single", "one", LAMP)]


def test_the_most_frequent_mistake_stands_beside_its_own_right_reply():
    mine = LAMP.replace("L-204", "l-204")
    assert pair(PLACE, OTHER, mine, OTHER, written(Leave(""))) == Pair("single", "Two of L-204?", mine, OTHER)


def test_without_a_right_one_the_script_says_it():
    made = pair(PLACE, OTHER, OTHER)
    assert made is not None
    assert made.right == LAMP


def test_what_is_no_step_at_all_is_wrong():
    made = pair(PLACE, LAMP, "I do not know")
    assert made is not None
    assert made.wrong == "I do not know"


def test_what_is_right_or_cannot_be_judged_makes_no_pair():
    assert pair(PLACE, LAMP, LAMP) is None
    words = written(Act("note", {"text": "the lamp is broken", "urgent": True}))
    place = Place("single", "Note it.", words)
    assert pair(place, words.replace("the lamp is broken", "a broken lamp")) is None
    assert pair(place, words.replace("true", "false")) is not None


def test_an_answer_is_judged_by_its_numbers():
    place = Place("single", "The price?", written(Say("It costs 30 EUR.")))
    assert pair(place, written(Say("30 EUR it is."))) is None
    assert pair(place, written(Say("It costs 20 EUR."))) is not None
    assert pair(place, written(Say("It costs 30 EUR.", successful=False))) is not None


def test_an_answer_that_names_another_thing_is_wrong():
    place = Place("choose", "The cheapest tour?", written(Say("The cheapest tour is Seeds on the Move.")))
    right = written(Say("Seeds on the Move is the cheapest tour."))
    wrong = written(Say("The cheapest tour is Orchids Close Up."))
    assert pair(place, right) is None
    assert pair(place, right, wrong) == Pair("choose", "The cheapest tour?", right, wrong)
    assert pairs.is_right(Say("It is Seeds."), Say("It is Seeds on the Move.")) is None, "in other words"
