"""How often, and how much at once."""

from __future__ import annotations

import pytest

from server.serving import ANN, BOB, TOKENS, PacedModel, relaxed, serving, talker
from treadle import Agent
from treadle._server import ServerSettings
from treadle._server.errors import ApiError
from treadle._server.limits import ConcurrencyLimit, RateLimit
from waiting import eventually


def test_limits_on_requests():
    settings = ServerSettings(requests_per_second=0.001, request_burst=10, grace=0.1)
    with serving(talker(), tokens=TOKENS, settings=settings) as client:
        ann = client.as_user(ANN)
        statuses = [ann.ask("GET", "/api/agents").status for _ in range(20)]
        assert statuses == [200] * 10 + [429] * 10
        assert client.as_user(BOB).ask("GET", "/api/agents").status == 200, "one user's haste is not another's"


def test_limits_on_runs_and_streams():
    model = PacedModel(["hi"], repeat_last=True)
    gate = model.hold()
    with serving(Agent(model, tools=None), settings=relaxed(max_runs_per_user=2, max_streams_per_user=1)) as client:
        runs = [client.start(), client.start()]
        refused = client.ask("POST", "/api/runs", {"question": "?"})
        assert (refused.status, "2 runs already" in refused.error) == (429, True)
        held = client.connect()
        held.request("GET", f"/api/runs/{runs[0]}/events")
        response = held.getresponse()
        assert response.status == 200
        assert client.ask("GET", f"/api/runs/{runs[0]}/events").status == 429
        response.close()
        held.close()
        eventually(lambda: not client.get("/health")["streams"], "the stream is released")
        gate.open()
        for run in runs:
            client.wait(run)
        client.wait(client.start())


def test_a_token_bucket_per_key():
    now = 100.0
    rate = RateLimit(2.0, 2, clock=lambda: now)
    assert [rate.spend("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.spend("b") == 0.0
    now += 0.25
    assert rate.spend("a") == 0.25
    now += 0.25
    assert rate.spend("a") == 0.0
    now += 1000
    assert [rate.spend("a") for _ in range(3)] == [0.0, 0.0, 0.5], "no more is saved up than the burst"


def test_so_many_at_once():
    limit = ConcurrencyLimit("things", 2, 1)
    with limit.held("a"), limit.held("b"):
        assert limit.in_use == 2
        with pytest.raises(ApiError, match="the server has 2 things already"):
            limit.acquire("c")
        with pytest.raises(ApiError, match="you have 1 things already"):
            limit.acquire("a")
    assert limit.in_use == 0
