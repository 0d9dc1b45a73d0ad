"""The result of a search, and its text."""

from __future__ import annotations

from msgspec import Struct

from treadle._inspect.evals.stats import Share
from treadle._inspect.why.changes import Change
from treadle._inspect.why.experiments import Experiment


class Cause(Struct, frozen=True):
    """A change with which the run goes right."""

    experiment: Experiment
    last_step: int
    """The last step at which the change still helps: there the run went wrong."""
    difference: str
    """The first request that differs, as a diff."""
    patch: str = ""
    """For the user's own file, where the text was found in one."""
    file: str = ""
    """That file."""

    @property
    def change(self) -> Change:
        return self.experiment.change


class Causes(Struct, frozen=True):
    """The result of `find_causes`, the most probable cause first."""

    run: str
    judge: str
    problem: str
    """What is wrong with the run, in the judge's words."""
    causes: tuple[Cause, ...]
    experiments: tuple[Experiment, ...]
    repeated: Share | None
    """How often the same again went right: above 0, chance is part of the cause."""
    requests: int
    reused: int
    """Requests that did not have to be made, because an equal one had been."""
    tokens: int
    cost: float | None
    complete: bool = True
    """False when the search had to end before everything was tried: the same search again goes on from here."""
    left_out: tuple[str, ...] = ()
    """Plug-ins that took no part, because their hooks may have effects."""
    repeated_until: int = 0
    """Where chance decides: the last step from which the same again may go right; 0 when it never did."""
    located: Experiment | None = None
    """The expected value, put where the wrong one stands, makes it right: that says where it comes from, not why."""
    inside: tuple[Causes, ...] = ()
    """What was found in the runs of sub-agents that the answer rests on."""

    @property
    def places(self) -> tuple[Change, ...]:
        """Where to look: the causes, the best first, then where the wrong value comes from."""
        located = () if self.located is None else (self.located.change,)
        inner = (change for one in self.inside for change in one.places)
        return (*(cause.change for cause in self.causes), *inner, *located)

    @property
    def explained(self) -> bool:
        """Whether a cause was found, here or inside."""
        return bool(self.causes) or any(one.explained for one in self.inside)

    def __str__(self) -> str:
        return as_text(self)


def as_text(result: Causes, *, most: int = 5) -> str:
    lines = [f"run {result.run[:8]}: {result.problem or 'wrong'}", f"judged by {result.judge}"]
    if result.repeated is not None:
        until = f"; from step {result.repeated_until} at the latest, so there chance decides" * bool(
            result.repeated_until
        )
        lines.append(f"the same again, without a change, goes right: {result.repeated}{until}")
    if not result.explained:
        chance = "chance, as far as can be seen: " if result.repeated_until else ""
        better = " more often" if chance else ""
        lines.append(f"{chance}no single change that was tried makes it right{better}")
    for rank, cause in enumerate(result.causes[:most], 1):
        lines += ["", *_cause(rank, cause)]
    if result.located is not None:
        where = result.located.change
        name = f" ({where.name})" if where.name else ""
        place = f"record {where.record}{name}" if where.kind == "passage" else "the system prompt"
        line = f"the wrong value {where.before!r} comes from {place}: with {where.after!r} there it goes right"
        lines += ["", f"it goes right with {where}; why it chose the other:" if where.kind == "route" else line]
    for one in result.inside:
        lines += ["", f"inside, {as_text(one, most=2)}"]
    if len(result.causes) > most:
        lines += ["", f"{len(result.causes) - most} more help, too"]
    cost = f", ${result.cost:.4f}" if result.cost else ""
    lines += [
        "",
        f"{len(result.experiments)} experiments, {result.requests} model requests ({result.reused} more were equal to "
        f"one of them), {result.tokens} tokens{cost}",
    ]
    leads = _leads(result)
    if leads:
        lines.append("could not be judged, because a result is needed that nobody knows:")
        lines += [f"  {lead.change} (then it calls {', '.join(lead.unknown)})" for lead in leads]
    if result.left_out:
        lines.append(f"took no part, because their hooks may have effects: {', '.join(result.left_out)}")
    if not result.complete:
        lines.append("the search was not finished: run it again with a larger limit, and it goes on from here")
    return "\n".join(lines)


def _leads(result: Causes, most: int = 3) -> list[Experiment]:
    """Return changes after which the run takes a path that the log cannot answer: the next place to look."""
    same = {name for one in result.experiments if one.change.kind == "nothing" for name in one.unknown}
    return [one for one in result.experiments if set(one.unknown) - same and not one.helps][:most]


def _cause(rank: int, cause: Cause) -> list[str]:
    experiment = cause.experiment
    until = f", and at none after step {cause.last_step}" if cause.last_step > experiment.step else ""
    lines = [
        f"{rank}. it goes right with {experiment.change}",
        f"   at step {experiment.step}{until}; {experiment.share}; fork {experiment.runs[0][:8]}: "
        f"{' '.join(experiment.answer.split())[:120]}",
    ]
    if experiment.imagined:
        lines.append(f"   with results that a model has guessed: {', '.join(experiment.imagined)}")
    if experiment.unknown:
        lines.append(f"   with results nobody knows: {', '.join(experiment.unknown)}")
    if rank == 1:
        lines += [f"   {line}" for line in cause.difference.splitlines()[:12]]
        if cause.patch:
            lines += ["   a patch for your file:", *(f"   {line}" for line in cause.patch.splitlines())]
    return lines
