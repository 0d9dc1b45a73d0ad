"""Tool search by meaning on 200 tools: how often the tool that is needed is among those offered, and what that saves.

    python benchmarks/tool_search.py      # needs the extra `embeddings`; nothing leaves this machine

200 tools, ten things that can be done with each of twenty kinds of objects. Each has one question, which uses other
words than the tool for both. `words` ranks by the words that question and tool share, as a baseline.
"""

from __future__ import annotations

import asyncio
import re

from treadle import Agent, ScriptedModel, Tool
from treadle._engine.requests.estimate import Estimator
from treadle._models.embeddings import MINILM, Meanings
from treadle._plugins.guards.tool_search import ToolSearch, searched_text
from treadle.testing import assert_prefix_stable

OBJECTS = {
    "invoice": "the bill for my customer",
    "flight": "my plane trip",
    "hotel_booking": "my room for the night",
    "calendar_event": "the appointment on Monday",
    "email": "the message in my inbox",
    "contact": "a person's phone number",
    "pull_request": "the proposed code change",
    "ticket": "the bug somebody reported",
    "database_table": "the rows of stored data",
    "spreadsheet": "the sheet with the figures",
    "employee": "a person on our staff",
    "shipment": "the parcel on its way",
    "prescription": "the medicine from my doctor",
    "bank_transfer": "the money I send to a friend",
    "subscription": "my monthly plan",
    "photo": "the picture from the holiday",
    "song": "the music track",
    "recipe": "the instructions for cooking a dish",
    "server": "the machine that hosts our site",
    "password": "the secret for logging in",
}
ACTIONS = {
    "create": ("Create a new {}.", "I need to make {} from scratch"),
    "delete": ("Delete a {} for good.", "please get rid of {} forever"),
    "update": ("Update the fields of a {}.", "some details of {} are wrong and must be changed"),
    "list": ("List every {}.", "show me all there are of {}"),
    "search": ("Search for a {} by text.", "I cannot find {}, look it up"),
    "export": ("Export a {} to a file.", "save {} as a document on my disk"),
    "share": ("Share a {} with another user.", "let my colleague see {}"),
    "archive": ("Archive a {}.", "put {} away, I do not need it now but want to keep it"),
    "duplicate": ("Duplicate a {}.", "I want a second copy of {}"),
    "approve": ("Approve a {}.", "I agree with {}, let it go ahead"),
}


def _done(id: str, note: str = "") -> str:
    return f"{id}: done {note}"


def tools() -> tuple[list[Tool], dict[str, str]]:
    made: list[Tool] = []
    questions: dict[str, str] = {}
    field = {"type": "string", "description": "Which one"}
    for noun, said in OBJECTS.items():
        for verb, (description, question) in ACTIONS.items():
            name = f"{verb}_{noun}"
            text = description.format(noun.replace("_", " "))
            schema = {"type": "object", "properties": {"id": field, "note": field}, "required": ["id"]}
            made.append(Tool(name, text, schema, _done, effect="pure"))
            questions[name] = question.format(said)
    return made, questions


def by_words(question: str, made: list[Tool]) -> list[str]:
    words = set(re.findall(r"\w+", question.lower()))
    return sorted((t.name for t in made), key=lambda name: -len(words & set(re.findall(r"[a-z]+", name))))


async def main() -> None:
    made, questions = tools()
    texts = [searched_text(tool) for tool in made]
    meanings = Meanings(MINILM)
    found = {"meaning": {1: 0, 6: 0, 12: 0}, "words": {1: 0, 6: 0, 12: 0}}
    for name, question in questions.items():
        ranked = [made[index].name for index, _ in await meanings.ranked(question, texts)]
        for kind, order in (("meaning", ranked), ("words", by_words(question, made))):
            for most in found[kind]:
                found[kind][most] += name in order[:most]
    for kind, hits in found.items():
        recall = ", ".join(f"at {most}: {count / len(questions):.0%}" for most, count in hits.items())
        print(f"recall of the needed tool by {kind}: {recall} ({len(questions)} questions, {len(made)} tools)")
    question = questions["delete_flight"]
    for label, plugins, threshold in (("all tools", [], None), ("search", [ToolSearch(meanings.embedder)], 12)):
        replies = [{"name": "find_tools", "args": {"query": "send the bill"}}, "done"] if plugins else ["done"]
        model = ScriptedModel(replies)
        run = Agent(model, made, plugins=plugins, selection_threshold=threshold).start(question)
        await run
        assert_prefix_stable(run)
        tokens = [Estimator().tokens(request) for request in model.requests]
        print(f"{label}: {len(tokens)} requests of about {tokens} tokens, prefix kept")


if __name__ == "__main__":
    asyncio.run(main())
