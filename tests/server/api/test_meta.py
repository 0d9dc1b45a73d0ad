"""What the server says about itself."""

from __future__ import annotations

import pytest

from server.serving import ANN, BOB, TOKENS, adder, relaxed, serving


def test_metrics_and_health():
    with serving(adder()) as client:
        client.wait(client.start())
        assert client.get("/health")["status"] == "ok"
        text = client.ask("GET", "/metrics").data.decode()
        assert 'treadle_runs_finished_total{stop_reason="answer"} 1' in text
        assert 'treadle_tool_calls_total{outcome="ok"} 1' in text
        assert "treadle_runs_live 0" in text


@pytest.mark.parametrize(
    ("tokens", "operators", "statuses"),
    [
        (TOKENS, (), (403, 403)),
        (TOKENS, ("ann",), (200, 403)),
        ({ANN: "ann"}, (), (200, 401)),
    ],
)
def test_the_metrics_are_about_everybody_and_for_the_operator(
    tokens: dict[str, str], operators: tuple[str, ...], statuses: tuple[int, ...]
):
    with serving(adder(), tokens=tokens, settings=relaxed(operators=operators)) as client:
        assert tuple(client.as_user(token).ask("GET", "/metrics").status for token in (ANN, BOB)) == statuses
