"""View items as lines of a terminal: what has happened, and what is going on now."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from treadle._cli.display.text import one_line, plain_json, plural, seconds, spent
from treadle._types.events import LedgerEntry, Record
from treadle._types.state import CONVERSATION
from treadle._types.usage import NO_USAGE
from treadle._view import items as it
from treadle._view.fold import RunView

MAX_CITED = 5


class Line(Struct, frozen=True):
    kind: Literal["thought", "note", "warning", "you", "plan", "divider"]
    text: str
    depth: int = 0


class Card(Struct, frozen=True):
    """A tool call: under way, or with its result."""

    call: it.Call
    depth: int = 0


Item = Line | Card | it.Answer


class Timeline:
    """Turns records into what is printed; its attributes say what the run is doing now."""

    def __init__(self, run_id: str, past: Iterable[Record] = ()) -> None:
        """`past` are earlier records, which are not shown again."""
        self.run_id = run_id
        self.activity = "starting"
        self.usage = NO_USAGE
        self._views = defaultdict[str, RunView](RunView)
        """The run and those inside it, which are shown indented."""
        self._writing = ""
        """The item whose text is being written now."""
        self._failure = ""
        """Why the last attempt of a model call failed."""
        for record in past:
            for _ in self.feed(record):
                pass
        self.began = time.time()

    @property
    def view(self) -> RunView:
        """The run that is shown; those inside it write at the same time, and their thoughts come as lines."""
        return self._views[self.run_id]

    @property
    def model(self) -> str:
        return self.view.status.model

    @property
    def iteration(self) -> int:
        return self.view.status.iteration

    @property
    def streamed(self) -> str:
        """Return what the model has written so far in its current reply."""
        return self.view.written(self._writing)

    @property
    def answering(self) -> bool:
        """Return whether that is the answer, as far as anybody knows yet; else it is a thought."""
        return bool(self.streamed) and self._writing == "answer"

    def running(self) -> list[Card]:
        """The calls under way, those of runs inside the run too."""
        return [Card(call, self._depth(run)) for run, view in tuple(self._views.items()) for call in view.running()]

    def status(self, *, cost: bool = True) -> str:
        """Return what the run is doing now, for how long, and what it has cost so far."""
        parts = [self.activity]
        if self.iteration:
            parts.append(f"step {self.iteration}")
        parts.append(seconds(max(0.0, time.time() - self.began)))
        if cost and self.model:
            parts.append(one_line(self.model, 40))
        if cost and self.usage.total_tokens:
            parts.append(spent(self.usage))
        return " · ".join(parts)

    def feed(self, record: Record) -> Iterator[Item]:
        view = self._views[record.run]
        own = record.run == self.run_id
        changes, depth = view.feed(record), self._depth(record.run)
        for change in changes:
            if isinstance(change, it.More):
                if own and not change.id.startswith("call:"):
                    self._writing = change.id
                continue
            item = change.item
            if isinstance(item, it.Status):
                self.activity = item.activity or self.activity
                continue
            if isinstance(item, it.Thought) and item.usage is not NO_USAGE:
                before = change.before.usage if isinstance(change.before, it.Thought) else NO_USAGE
                self.usage += item.usage if before is NO_USAGE else item.usage - before
            elif isinstance(item, it.Answer) and own and item.state == "final":
                yield item
            elif isinstance(item, it.Retry) and not item.rejected:
                yield self._retry(item, depth)
            yield from _drawn(change, depth)

    def _depth(self, run: str) -> int:
        turn = self._views[run].items.get("turn")
        return turn.depth if isinstance(turn, it.Turn) else int(run != self.run_id)

    def _retry(self, item: it.Retry, depth: int) -> Line:
        """Say why an attempt failed, once for as long as it is the same reason."""
        again = "" if item.wait is None else f"; next attempt in {seconds(item.wait)}"
        same = item.attempt > 1 and item.error == self._failure
        self._failure = item.error
        why = " in the same way" if same else f": {one_line(item.error, 200)}"
        return Line("warning", f"attempt {item.attempt} failed{why}{again}", depth)


def _drawn(change: it.Put, depth: int) -> Iterator[Line | Card]:
    """Return what an item is printed as, once it is complete."""
    match item := change.item:
        case it.Call():  # the most frequent ones come first
            if item.ended and not (isinstance(change.before, it.Call) and change.before.ended):
                yield Card(item, depth)
        case it.Thought():
            if item.state != "done" or item.component not in CONVERSATION:
                return
            if item.problem:
                yield Line("warning", f"invalid reply: {one_line(item.problem, 200)}", depth)
            elif item.words and not item.is_answer:
                yield Line("thought", item.words, depth)
        case it.Cost():  # shown in the status line
            pass
        case it.Retry(rejected=False):  # drawn where the one before it is known
            pass
        case it.Decision():
            yield Line("note", _decision(item), depth)
        case it.Interrupt():
            yield from (Line("you", text, depth) for text in item.texts)
        case it.Checklist():
            marks = "\n".join(f"[{'x' if step.done else ' '}] {one_line(step.text, 300)}" for step in item.steps)
            yield Line("plan", marks, depth)
        case it.Compaction():
            before = plural(item.original_messages, "message")
            yield Line("divider", f"context compacted: {before} to {item.kept_messages}", depth)
        case it.ProviderUse():
            yield from _provider_use(item, depth)
        case it.PlanStep(state="running"):
            yield Line("note", f"step {item.step} started: {one_line(item.task, 200)}", depth)
        case it.PlanStep() if item.state != "waiting":
            outcome = one_line(item.error or item.result, 200)
            yield Line("note", f"step {item.step} {item.state} in {seconds(item.elapsed)}: {outcome}", depth)
        case it.End() if not depth:
            yield from _ledger(item.ledger)
        case it.Notice() if item.level != "quiet":
            text = f"{item.title}: {one_line(item.text, 300)}" if item.text else item.title
            yield Line(item.level, one_line(text, 400), depth)
        case _:
            pass


def _ledger(entries: Iterable[LedgerEntry]) -> Iterator[Line]:
    """What was not done, and what was done by tools that say that they act: the others are seen as calls."""
    for entry in entries:
        if entry.state != "done" or entry.declared:
            yield Line("note" if entry.state == "done" else "warning", one_line(entry.line[1:-1], 300))


def _provider_use(item: it.ProviderUse, depth: int) -> Iterator[Line]:
    """Return what the provider did while it wrote the reply, and what the reply cites."""
    for call in item.calls:
        asked = f": {one_line(call.input, 200)}" if call.input else ""
        failed = f" failed ({one_line(call.error, 100)})" if call.error else ""
        yield Line("warning" if failed else "note", f"{call.tool} at the provider{failed}{asked}", depth)
    if item.citations:
        named = [one.title or one.url or one.file for one in item.citations]
        more = f" and {len(named) - MAX_CITED} more" if len(named) > MAX_CITED else ""
        yield Line("note", f"cited: {'; '.join(one_line(name, 80) for name in named[:MAX_CITED])}{more}", depth)


def _decision(item: it.Decision) -> str:
    by = f" by {item.by}" if item.by else ""
    if item.decided == "answered":
        return f"{item.tool} was answered{by}"
    changed = f" with the arguments {one_line(plain_json(item.args), 200)}" if item.args is not None else ""
    always = " for this run" if item.always else ""
    note = f": {one_line(item.note, 200)}" if item.note else ""
    return f"{item.tool} {item.decided}{always if item.decided == 'allowed' else ''}{changed}{by}{note}"


def ending(stop_reason: str, iterations: int, elapsed: float, cost: str, run_id: str) -> str:
    """The last line under a run."""
    what = "" if stop_reason in ("answer", "final_tool") else f"{stop_reason} · "
    return f"{what}{plural(iterations, 'step')} · {seconds(elapsed)} · {cost} · run {run_id[:8]}"


def observation(call: it.Call) -> str:
    """The result of a call, and the names of what it made."""
    content = "" if call.final else call.content  # which is shown as the answer
    names = ", ".join(artifact.name for artifact in call.artifacts)
    return f"{content}\n[{names}]".lstrip() if names else content
