"""The rows of the study as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from study.rows import Row
from treadle._inspect.evals.stats import share_of

KINDS = ("single", "choose", "chain", "none", "recovery")
BASE = "smolagents"


def markdown(
    rows: Iterable[Row],
    *,
    split: str = "all",
    label: str | None = None,
    model: str | None = None,
    who: Sequence[str] = (),
) -> str:
    """For every model and label a table of tasks solved and one of the effort, over the tasks that all have done."""
    order = {name: index for index, name in enumerate(who)}
    groups: dict[tuple[str, str], dict[str, dict[str, Row]]] = {}
    for row in rows:
        selected = (
            (not order or row.who in order)
            and split in ("all", row.split)
            and label in (None, row.label)
            and model in (None, row.model)
        )
        if selected:
            groups.setdefault((row.model, row.label), {}).setdefault(row.who, {})[row.task] = row
    parts = [
        _section(f"{model}, {label}", dict(sorted(rows_by_who.items(), key=lambda item: order.get(item[0], 0))), split)
        for (model, label), rows_by_who in groups.items()
    ]
    return "\n\n".join(parts) if parts else "no rows"


def _section(title: str, rows_by_who: dict[str, dict[str, Row]], split: str) -> str:
    first, *others = rows_by_who.values()
    shared = set(first).intersection(*others)
    most = max(len(done) for done in rows_by_who.values())
    lines = {who: [row for task, row in done.items() if task in shared] for who, done in rows_by_who.items()}
    counted = f"{len(shared)} tasks ({split})" + (
        f"; {most - len(shared)} more are not done by all" if most > len(shared) else ""
    )
    parts = [f"### {title}", f"{counted}. Shares with 95 % Wilson intervals."]
    if shared:
        parts += [table(_solved(lines)), table(_effort(lines))]
    return "\n\n".join(parts)


def _solved(lines: dict[str, list[Row]]) -> list[list[str]]:
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in next(iter(lines.values())))]
    table = [["", "solved", *kinds]]
    for who, rows in lines.items():
        counts = [
            (sum(row.passed for row in rows if row.kind == kind), sum(row.kind == kind for row in rows))
            for kind in kinds
        ]
        table.append(
            [who, str(share_of((row.task, row.passed) for row in rows)), *(f"{solved}/{of}" for solved, of in counts)]
        )
    return table


def _effort(lines: dict[str, list[Row]]) -> list[list[str]]:
    base = sum(row.seconds for row in lines.get(BASE, ()))
    table = [
        [
            "",
            "seconds",
            "per task",
            f"of {BASE}' time",
            "timed out",
            "requests",
            "tokens in",
            "cached",
            "from request 2 on",
            "tokens out",
        ]
    ]
    for who, rows in lines.items():
        seconds, read, cached = (
            sum(row.seconds for row in rows),
            sum(row.input for row in rows),
            sum(row.cached for row in rows),
        )
        later = [spent for row in rows for spent in row.rounds[1:]]
        table.append(
            [
                who,
                f"{seconds:.0f}",
                f"{seconds / len(rows):.1f}",
                _percent(seconds, base),
                str(sum(row.stop == "timeout" for row in rows)),
                str(sum(row.requests for row in rows)),
                str(read),
                _percent(cached, read),
                _percent(sum(spent[1] for spent in later), sum(spent[0] for spent in later)),
                str(sum(row.output for row in rows)),
            ]
        )
    return table


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total:.0f} %" if total else "-"


def table(rows: list[list[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
