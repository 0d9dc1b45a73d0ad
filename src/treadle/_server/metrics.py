"""Counters of this process, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter

from treadle._types import events as ev

_HELP = {
    "treadle_runs_started_total": "Runs started or resumed.",
    "treadle_runs_finished_total": "Runs that ended, by reason.",
    "treadle_records_total": "Records stored.",
    "treadle_tokens_total": "Tokens used, by direction.",
    "treadle_model_calls_total": "Model calls, by outcome.",
    "treadle_cost_dollars_total": "Cost of model calls, where prices are known.",
    "treadle_tool_calls_total": "Tool calls, by outcome.",
    "treadle_http_requests_total": "HTTP requests, by operation and status.",
    "treadle_runs_live": "Runs in progress.",
    "treadle_streams_live": "Open event streams.",
}


class Metrics:
    def __init__(self) -> None:
        self.counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.cost = 0.0

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        self.counts[name, tuple(labels.items())] += amount

    def record(self, record: ev.Record) -> None:
        """Count a record of any run."""
        if record.offset:
            return
        self.count("treadle_records_total")
        match record.event:
            case ev.ThinkDone(usage=usage):
                self.count("treadle_model_calls_total", outcome="ok")
                self.count("treadle_tokens_total", usage.input_tokens, direction="input")
                self.count("treadle_tokens_total", usage.output_tokens, direction="output")
                self.cost += usage.cost or 0.0
            case ev.ThinkFailed(options=options):
                self.count("treadle_model_calls_total", outcome="other" if options else "failed")
            case ev.ToolDone(error=error):
                self.count("treadle_tool_calls_total", outcome=error or "ok")
            case ev.RunFinished(stop_reason=reason) if not record.parent:
                self.count("treadle_runs_finished_total", stop_reason=reason)
            case _:
                pass

    def text(self, **gauges: int) -> str:
        """Return all metrics as text. `gauges` are current values, by name."""
        rows: dict[str, list[str]] = {}
        for (name, labels), value in sorted(self.counts.items()):
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
            rows.setdefault(name, []).append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")
        rows["treadle_cost_dollars_total"] = [f"treadle_cost_dollars_total {self.cost:.6f}"]
        for name, value in gauges.items():
            rows[name] = [f"{name} {value}"]
        lines: list[str] = []
        for name, values in rows.items():
            kind = "gauge" if name in gauges else "counter"
            lines += [f"# HELP {name} {_HELP.get(name, name)}", f"# TYPE {name} {kind}", *values]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
