"""A typed answer can be watched while it grows: what is shown fits the type, and only ever grows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import echo
from treadle import Agent, ScriptedModel
from treadle._engine.answering.partial import PartialReader, closed
from treadle._types.events import OutputPartial
from treadle._types.request import Reply

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.booleans())
def test_every_beginning_of_an_object_can_be_closed(value: dict[str, Any], ascii_only: bool):
    text = json.dumps(value, ensure_ascii=ascii_only)
    for end in range(1, len(text) + 1):
        json.loads(closed(text[:end])[-1])
    assert json.loads(closed(text)[-1]) == value


@dataclass
class City:
    name: str
    size: Literal["small", "large"]
    people: int
    districts: list[str]


CITY = {"name": 'Lis"bon\n', "size": "large", "people": 545923, "districts": ["Alfama", "Baixa"]}


def test_a_value_is_shown_as_it_grows_and_always_fits():
    reader, seen = PartialReader(City), list[OutputPartial]()
    for char in json.dumps(CITY):
        if (grown := reader.feed(char)) is not None:
            seen.append(grown)
    assert seen[0].data == {"name": "L"} or seen[0].data["name"] in 'Lis"bon\n'
    assert all(partial.data.get("size", "large") == "large" for partial in seen), "half a word is no value of the type"
    assert len(seen) > 8
    keys = [len(partial.data) for partial in seen]
    assert keys == sorted(keys)


@pytest.mark.parametrize("native", [True, False])
async def test_it_can_be_watched_from_the_run(native: bool):
    text = json.dumps(CITY)
    reply = text if native else json.dumps({"type": "final_answer", "answer": text})
    model = ScriptedModel([reply], abilities={} if native else {"tool_call": False}, chunk=5)
    run = Agent(model, [echo], output_type=City, dialect="native" if native else "json").start("q")
    seen = [partial async for partial in run.partial_output()]
    result = await run
    assert result.output == City(**CITY)
    assert seen[-1] == OutputPartial(CITY, complete=True)
    assert len(seen) > 5
    assert seen[0].data.keys() == {"name"}
    assert not seen[0].complete


async def test_a_call_of_its_own_that_makes_the_value_can_be_watched():
    script = ["Lisbon is large.", {"name": "answer", "args": CITY}]

    class InPieces(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            from treadle._types.request import CallDelta

            async for part in super().stream(request):
                if isinstance(part, Reply) and part.calls and request.stream:
                    arguments = part.calls[0].arguments
                    for start in range(0, len(arguments), 7):
                        yield CallDelta(0, arguments=arguments[start : start + 7])
                if not isinstance(part, CallDelta):
                    yield part

    run = Agent(InPieces(script), [echo], output_type=City).start("q")
    seen = [partial async for partial in run.partial_output()]
    assert (await run).output == City(**CITY)
    assert len(seen) > 3
    assert seen[-1].complete


def test_a_value_that_is_too_deep_to_be_read_shows_nothing_and_stops_nothing():
    assert PartialReader(City).feed('{"a":' + "[" * 2_000) is None
