"""The mark of an experiment: a record that says that a run was forked to try something out.

Whoever drives such a run, now or later, from whatever fork: nothing with an effect runs in it (`_engine.acting.execute`
asks `Execution.in_experiment`), and only plug-ins take part whose own class says that they are harmless.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle._types.errors import ConfigError
from treadle._types.events import Noted, Record

EXPERIMENT = "experiment"
"""The component of the note."""


def experiment_mark(records: Iterable[Record]) -> Noted | None:
    """The note that makes a log an experiment, if it has one."""
    found = (record.event for record in records)
    return next((event for event in found if isinstance(event, Noted) and event.component == EXPERIMENT), None)


def experiment_of(mark: Noted) -> str:
    """The id of the run that the experiment was made with."""
    return str(mark.data.get("of", ""))


def takes_part(plugin: object) -> bool:
    """Return whether the plug-in's own class says that it is harmless: one that extends a harmless one has not said
    so."""
    return bool(vars(type(plugin)).get("harmless", False))


SEARCH = ".why"
"""The id of a search is that of the run it is about, with this behind it; its experiments are the runs inside it."""


def is_search(run_id: str) -> bool:
    return run_id.endswith(SEARCH)


def refuse_experiment(run_id: str, records: Iterable[Record], plugins: Iterable[Any]) -> None:
    """Only a search goes on with its experiments: it gives them the recorded results, and what they change."""
    mark = experiment_mark(records)
    if mark is None or any(getattr(plugin, "conducts_experiments", False) for plugin in plugins):
        return
    of = experiment_of(mark)
    raise ConfigError(
        f"run {run_id} is an experiment with run {of}, in which nothing with an effect runs: `treadle runs why "
        f"{of[:8]}` goes on with it"
    )
