"""Counters in the text format of Prometheus."""

from __future__ import annotations

from treadle._server.metrics import Metrics
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage
from treadle._types.usage import Usage


def test_records_are_counted():
    metrics = Metrics()
    usage = Usage(input_tokens=10, output_tokens=3, cost=0.25)
    for event in (
        ev.ThinkDone("loop", 1, AssistantMessage("hi"), usage=usage),
        ev.ThinkFailed("loop", 1, "busy", 1),
        ev.ToolDone("c", "add", 1, "3"),
        ev.ToolDone("d", "add", 1, "no", error="timeout"),
        ev.RunFinished("answer", "3"),
    ):
        metrics.record(ev.Record("r", 0, 0.0, event))
    metrics.record(ev.Record("r", 0, 0.0, ev.AnswerDelta("only shown"), offset=1))
    metrics.record(ev.Record("child", 0, 0.0, ev.RunFinished("answer", "3"), parent="r"))
    lines = metrics.text(treadle_runs_live=2).splitlines()
    for line in (
        "treadle_records_total 6",
        'treadle_model_calls_total{outcome="ok"} 1',
        'treadle_model_calls_total{outcome="failed"} 1',
        'treadle_tokens_total{direction="input"} 10',
        'treadle_tokens_total{direction="output"} 3',
        'treadle_tool_calls_total{outcome="ok"} 1',
        'treadle_tool_calls_total{outcome="timeout"} 1',
        'treadle_runs_finished_total{stop_reason="answer"} 1',
        "treadle_cost_dollars_total 0.250000",
        "# TYPE treadle_runs_live gauge",
        "treadle_runs_live 2",
    ):
        assert line in lines, line


def test_labels_are_escaped():
    metrics = Metrics()
    metrics.count("treadle_http_requests_total", operation='a"b\\c\nd')
    assert 'treadle_http_requests_total{operation="a\\"b\\\\c\\nd"} 1' in metrics.text().splitlines()
