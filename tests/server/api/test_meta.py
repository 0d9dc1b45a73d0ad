"""What the server says about itself."""

from __future__ import annotations

from server.serving import adder, serving


def test_metrics_and_health():
    with serving(adder()) as client:
        client.wait(client.start())
        assert client.get("/health")["status"] == "ok"
        text = client.ask("GET", "/metrics").data.decode()
        assert 'treadle_runs_finished_total{stop_reason="answer"} 1' in text
        assert 'treadle_tool_calls_total{outcome="ok"} 1' in text
        assert "treadle_runs_live 0" in text
