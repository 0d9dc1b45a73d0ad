"""Whatever a server sends, an adapter gives a reply or a typed error."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.contract import WIRES, Sample, Wire
from treadle._types.errors import ModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)

NUMBERS = {
    "cost": 0.1,
    "is_byok": True,
    "cost_details": {"upstream_inference_cost": 0.2},
    "output_tokens_details": {"thinking_tokens": 1},
}
SAMPLE = Sample("Text.", (("a", "f", {"x": 1}), ("b", "g", {})), "Hm.", "calls")
ODD: list[Any] = [None, True, float("inf"), float("nan"), -1, 2**70, 1e300, "", "text", [], [7], {}, {"type": 7}]
odd = st.recursive(
    st.sampled_from(ODD)
    | st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["stop", "error", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "index", "text", "id", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def documents(wire: Wire, streaming: bool) -> list[Any]:
    if not streaming:
        whole = json.loads(b"".join(wire.whole(SAMPLE).pieces))
        whole["usage"] = {**whole.get("usage", {}), **NUMBERS}
        return [whole]
    return wire.documents(SAMPLE)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(path_below for key, child in inner for path_below in paths(child, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


MODELS = {wire.name: wire.model("http://127.0.0.1:9") for wire in WIRES}


def read(wire: Wire, payloads: list[bytes]) -> None:
    reader = MODELS[wire.name].reader_of(Request([UserMessage("q")]))
    try:
        for payload in payloads:
            if not reader.done:
                list(reader.feed(payload))
        reply = reader.reply()
    except ModelError:
        return
    # What comes out can be stored: types hold, and it survives the journal's encoding.
    assert msgspec.json.decode(msgspec.json.encode(reply), type=type(reply)) is not None
    assert reader.spent().requests >= 1


def test_each_odd_value_in_every_place(wire: Wire):
    for sent in (documents(wire, False), documents(wire, True)):
        payloads = [json.dumps(document).encode() for document in sent]
        for number, document in enumerate(sent):
            for path in paths(document):
                for value in ODD:
                    changed = json.dumps(put(document, path, value)).encode()
                    read(wire, [*payloads[:number], changed, *payloads[number + 1 :]])


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_value_anywhere(wire: Wire, data: st.DataObject):
    sent = documents(wire, data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(sent) - 1))
        path = data.draw(st.sampled_from(paths(sent[number])))
        sent[number] = put(sent[number], path, data.draw(odd))
    read(wire, [json.dumps(document).encode() for document in sent])


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_events_lost_doubled_or_in_another_order(wire: Wire, data: st.DataObject):
    sent = documents(wire, True)
    order = data.draw(st.lists(st.integers(0, len(sent) - 1), max_size=2 * len(sent)))
    read(wire, [json.dumps(sent[number]).encode() for number in order])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=4))
def test_any_bytes(wire: Wire, payloads: list[bytes]):
    read(wire, payloads)
