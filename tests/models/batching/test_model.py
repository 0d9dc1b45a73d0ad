"""Requests collected into rounds: who is waited for, what is asked again, and a provider that says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kit import row
from models.asking import run
from models.wires import ChatWire, Sample
from treadle._models.base import complete
from treadle._models.batching import model as model_module
from treadle._models.batching.apis import Progress, Result
from treadle._models.batching.model import BatchedModel, Batcher
from treadle._types.errors import RequestRefusedError, TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request


class Api:
    """An interface in this process. `states` are what each poll gives: a progress, or an error to raise."""

    largest = 2

    def __init__(self, *states: Progress | Exception) -> None:
        self.states = list(states)
        self.submitted: list[list[str]] = []
        self.answers: dict[str, dict[str, Result]] = {}

    async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
        self.submitted.append([body.decode() for _, body in requests])
        batch = f"b{len(self.submitted)}"
        self.answers[batch] = {key: Result(200, body) for key, body in requests}
        return batch

    async def poll(self, batch: str) -> Progress:
        state = self.states.pop(0) if self.states else Progress("ended", ended=True)
        if isinstance(state, Exception):
            raise state
        return state

    async def results(self, batch: str) -> dict[str, Result]:
        return self.answers[batch]


class Store:
    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.known = known or {}

    def batches(self) -> dict[str, str]:
        return dict(self.known)

    def add(self, batch: str, keys: Sequence[str]) -> None:
        self.known |= dict.fromkeys(keys, batch)


def asked(api: Any, bodies: list[bytes], *, everybody: int, store: Store | None = None, **options: Any) -> list[Any]:
    async def main() -> list[Any]:
        batcher = Batcher(
            api, store or Store(), everybody_waits=lambda waiting: waiting >= everybody, poll_seconds=0.0, **options
        )
        serving = asyncio.ensure_future(batcher.serve())
        try:
            return await asyncio.gather(*(batcher.answer(body) for body in bodies), return_exceptions=True)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    return run(main())


def test_a_round_is_at_most_as_large_as_the_interface_allows():
    api = Api()
    answers = asked(api, [b"1", b"2", b"3"], everybody=1)
    assert [answer.body for answer in answers] == [b"1", b"2", b"3"]
    assert api.submitted == [["1", "2"], ["3"]]


def test_the_same_request_twice_is_two_requests():
    api = Api()
    store = Store()
    asked(api, [b"same", b"same"], everybody=2, store=store)
    assert len(store.known) == 2


def test_a_run_that_is_busy_is_not_waited_for_endlessly():
    assert [answer.body for answer in asked(Api(), [b"1"], everybody=5, linger=0.01)] == [b"1"]


def test_what_was_handed_in_before_is_not_handed_in_again():
    first, store = Api(), Store()
    asked(first, [b"1"], everybody=1, store=store)
    second = Api()
    second.answers = first.answers
    assert [answer.body for answer in asked(second, [b"1"], everybody=1, store=store)] == [b"1"]
    assert second.submitted == []


def test_a_batch_of_earlier_without_a_result_is_handed_in_again():
    first, store = Api(), Store()
    asked(first, [b"1"], everybody=1, store=store)
    second = Api()
    second.answers = {"old": {}}
    store.known = dict.fromkeys(store.known, "old")
    assert [answer.body for answer in asked(second, [b"1"], everybody=1, store=store)] == [b"1"]
    assert second.submitted == [["1"]]


def test_a_provider_that_is_silent_for_a_while(monkeypatch: pytest.MonkeyPatch):
    lost = TransientModelError("no answer")
    assert asked(Api(lost, Progress("running"), lost), [b"1"], everybody=1)[0].body == b"1"
    monkeypatch.setattr(model_module, "MAX_SILENCE", 2)
    assert isinstance(asked(Api(lost, lost, lost), [b"1"], everybody=1)[0], TransientModelError)


def test_a_refusal_is_everybodys():
    class Refuses(Api):
        async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
            raise RequestRefusedError("no", status=401)

    errors = asked(Refuses(), [b"1", b"2"], everybody=2)
    assert [error.status for error in errors] == [401, 401]
    assert errors[0] is not errors[1]


class Says:
    def __init__(self, result: Result) -> None:
        self.result = result

    async def answer(self, body: bytes) -> Result:
        assert b'"stream"' not in body
        return self.result


def test_the_profile_and_the_cost_are_those_of_a_batch():
    wire = ChatWire()
    inner = wire.model("http://127.0.0.1:9")
    body = b"".join(wire.whole(Sample("Hello.")).pieces)
    model = BatchedModel(inner, Says(Result(200, body)))  # type: ignore[arg-type]
    assert model.profile.prices is not None
    assert inner.profile.prices is not None
    assert model.profile.prices.input == inner.profile.prices.input / 2
    assert model.media is inner.media
    reply = run(complete(model, Request([UserMessage("q")], stream=True)))
    assert reply.text == "Hello."
    assert reply.usage.cost == pytest.approx((60 * 2.5 + 40 * 1.25 + 20 * 10) / 2e6)


def test_a_request_that_failed():
    for status, error in [(0, TransientModelError), (429, TransientModelError), (400, RequestRefusedError)]:
        with row(status, error):
            inner = ChatWire().model("http://127.0.0.1:9")
            model = BatchedModel(inner, Says(Result(status, b'{"error":{"message":"x"}}')))  # type: ignore[arg-type]
            with pytest.raises(error):
                run(complete(model, Request([UserMessage("q")])))
