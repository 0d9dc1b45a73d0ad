"""Before and after a run at the terminal: load the model, close everything, print the outcome."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable

from treadle._agent.agent import Agent
from treadle._cli.display.notice import Waiting
from treadle._cli.display.text import clean, one_line, plain_json, plural, seconds, spent
from treadle._engine.result import RunResult
from treadle._journal import Journal
from treadle._models.base import Model
from treadle._types.errors import ConfigError

WARM_MINUTES = 5.0


def isolate(model: Model) -> None:
    """Have a local model loaded in a process of its own, where it stays for the next command (`TREADLE_WARM_MINUTES`).
    While it is loaded in this one no Python code runs, not even for Ctrl-C."""
    if (own_process := getattr(model, "isolate", None)) is None:
        return
    given = os.environ.get("TREADLE_WARM_MINUTES", "")
    try:
        minutes = max(0.0, float(given)) if given else WARM_MINUTES
    except ValueError:
        raise ConfigError(f"TREADLE_WARM_MINUTES is {given!r}: give a number of minutes, 0 for not at all") from None
    own_process(60 * minutes)


async def load_model(agent: Agent, *, quiet: bool = False, ahead: Callable[[], Awaitable[None]] | None = None) -> None:
    """Load a local model now: it takes long, and a download has a progress bar, which the display would disturb.
    `ahead` waits for what was begun before. A model at a server is met, and tried if nothing is known about it, with
    one line about that."""
    served = getattr(agent.model, "asks_server", False)
    if served and agent.settings.probe and agent.settings.budget is None and agent.toolkit:
        await _try(agent, quiet)
    isolate(agent.model)
    if (load := getattr(agent.model, "load", None)) is not None:
        has_bar = getattr(agent.model, "needs_download", False)
        with Waiting(f"loading {clean(agent.model.name)}", quiet=quiet or has_bar):
            if ahead is not None:
                await ahead()
            await load()


async def _try(agent: Agent, quiet: bool) -> None:
    from treadle._models.contact.trial import try_once

    with Waiting(f"contacting {clean(agent.model.name)}", quiet=quiet):
        trial = await try_once(agent.model)
    if trial is not None and not quiet:
        usage = trial.report.usage
        cost = f"{plural(usage.requests, 'request')}, {seconds(trial.elapsed)}, {spent(usage)}"
        print(f"{one_line(str(trial), 200)} ({cost}; once)", file=sys.stderr, flush=True)


async def close(agent: Agent, journal: Journal | None) -> None:
    for model in agent.models:
        await model.aclose()
    if journal is not None:
        await journal.aclose()


def print_outcome(result: RunResult, *, journaled: bool = True, file: str | None = None) -> None:
    """Print to stderr why a run ended without an answer, and with what it goes on when it waits or was stopped.

    `file` is the document the run needs again, where the run itself does not say so.
    """
    short = result.run_id[:8]
    match result.stop_reason:
        case "paused":
            for call in result.pending:
                print(
                    f"waiting for {'its result' if call.external else 'approval'}: "
                    f"{clean(call.tool)} {one_line(plain_json(call.args), 300)}"
                    f"   ({clean(call.why)}; call {clean(call.call_id)})",
                    file=sys.stderr,
                )
            for line in _how_to_go_on(result, short, f" -f {file}" if file else "", journaled):
                print(line, file=sys.stderr)
        case "error" | "empty" | "limit" | "budget" | "stuck" if result.error is not None:
            print(f"treadle: {clean(str(result.error))}", file=sys.stderr)
        case "cancelled" if journaled:
            print(f"to go on: treadle chat --resume {short}", file=sys.stderr)
        case _:
            pass


def _how_to_go_on(result: RunResult, run: str, document: str, journaled: bool) -> list[str]:
    """List the commands with which somebody decides about what waits, or gives the result of a call."""
    if not journaled:
        return ["it was not recorded (--journal none)"]
    external = [call for call in result.pending if call.external]
    lines = [f"to answer: treadle runs answer {run} {clean(call.call_id)} --result TEXT{document}" for call in external]
    if len(external) < len(result.pending) or not result.pending:
        again = f"{run} --all{document}"
        lines.append(f"to decide: treadle runs approve {again}   (or: treadle runs deny {again})")
    return lines
