"""Thousands of questions that need no tool. The base model's own answers to them are what the adapter is to keep."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from training.worlds import words as w

_HERE = Path(__file__).parent
_LISTS: dict[str, list[Any]] = json.loads((_HERE / "talk.json").read_text())
KNOWN: list[tuple[str, str]] = [(question, answer) for question, answer in _LISTS["known"]]
"""Questions that need no tool, with a short answer."""
SHOPS = ("a bakery", "a bike shop", "a bookshop", "a cafe", "a gym")
CLAIMS = (
    "bats are blind",
    "honey never spoils",
    "lightning never strikes twice",
    "the Great Wall is visible from space",
)
OCCASIONS = ("a gift", "a weekend", "a quick dinner", "a team event", "a rainy day")


def questions(r: random.Random, count: int) -> list[str]:
    """That many different questions, none of which is one of the knowledge test."""
    tested = {json.loads(line)["question"] for line in (_HERE.parent / "knowledge.jsonl").read_text().splitlines()}
    made: dict[str, None] = dict.fromkeys([*_LISTS["facts"], *_LISTS["talk"], *_LISTS["advice"]])
    while len(made) < count:
        question = _question(r)
        if question not in tested:
            made[question] = None
    chosen = [question for question in made if question not in tested]
    r.shuffle(chosen)
    return chosen[:count]


def _question(r: random.Random) -> str:
    country, term, word, thing, topic = (
        r.choice(items)
        for items in (_LISTS["countries"], _LISTS["terms"], _LISTS["words"], _LISTS["things"], _LISTS["topics"])
    )
    name, language, code = r.choice(w.FIRST), r.choice(_LISTS["languages"]), r.choice(_LISTS["code"])
    fact = r.choice(_LISTS["facts"])
    return r.choice(
        (
            f"What is the capital of {country}?",
            f"Which city is the capital of {country}?",
            f"Capital of {country}?",
            f"On which continent is {country}?",
            f"Which language is spoken in {country}?",
            f"Which countries border {country}?",
            f"Name a famous dish from {country}.",
            f"Tell me one fact about {country}.",
            f"Who wrote {r.choice(_LISTS['works'])}?",
            f"Who painted {r.choice(_LISTS['art'])}?",
            f"What is {r.choice(_LISTS['works'])} about?",
            f"What is {term}?",
            f"Explain {term} in one sentence.",
            f"Explain {term} to a child.",
            f"What does {term} mean?",
            f"Why is {term} important?",
            f"Give an example of {term}.",
            f"What is the opposite of {word}?",
            f"Give me a synonym for {word}.",
            f"Use the word {word} in a sentence.",
            f"What does the word {word} mean?",
            f"Give me three words that mean {word}.",
            f"Translate '{thing}' into {language}.",
            f"How do you say '{thing}' in {language}?",
            f"What is {language} for {thing}?",
            f"What is the plural of {thing}?",
            f"Describe a {thing} in one sentence.",
            f"Write a short poem about {topic}.",
            f"Write two sentences about {topic}.",
            f"Write a slogan for {r.choice(SHOPS)} about {topic}.",
            f"Suggest a title for a story about {topic}.",
            f"Write the first line of a story about {topic}.",
            f"Write a {r.choice(_LISTS['programming'])} function that {code}.",
            f"How do I write code that {code} in {r.choice(_LISTS['programming'])}?",
            f"Show me a short {r.choice(_LISTS['programming'])} example that {code}.",
            f"My name is {name}.",
            f"Hi, I am {name}.",
            f"Write a birthday wish for {name}.",
            f"Write one sentence that invites {name} to dinner.",
            f"Write a short thank-you note to {name}.",
            f"Write a polite e-mail to {name} that says I will be late.",
            f"Suggest a nickname for {name}.",
            f"Correct this sentence: {r.choice(_LISTS['sentences'])}.",
            f"Make this more polite: {r.choice(_LISTS['sentences'])}.",
            f"Make this shorter: {r.choice(_LISTS['sentences'])}.",
            f"Quick question: {fact[0].lower() + fact[1:]}",
            f"{fact} Please answer in one sentence.",
            f"{fact} Answer in one word.",
            f"Is it true that {r.choice(CLAIMS)}?",
            r.choice(_LISTS["foreign"]).format(c=country, t=term, p=topic),
            f"Give me three ideas for {r.choice(OCCASIONS)} with {topic}.",
            f"What rhymes with {thing}?",
            f"Summarise in one sentence: {' '.join(r.choice(_LISTS['sentences']) for _ in range(2))}.",
        )
    )
