"""What the model wants, read from its own probabilities, where a constraint would decide for it.

Under a grammar a model can only name the tools there are. One that wants `multiply`, and is offered `calculator`, is
left with an answer from memory, although it never wanted to answer. The probabilities before the constraint still say
so: when they disagree with the reply, it is asked for again under a constraint to what the model wanted. And a model
that wants a tool, but none of those there are, is asked whether one of them is for this at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache

from treadle._dialects.base import Decision
from treadle._dialects.text import TextDialect
from treadle._engine.context import RunContext, execution_of
from treadle._engine.plugin import Plugin
from treadle._engine.reply_policy import AskAgain, Bounds, Repetition
from treadle._lazy import load
from treadle._local.guards.support import all_harmless, lacks_adapter
from treadle._models.transport.decision import ANY, answer_probability, is_answer, wants_answer
from treadle._safety.logs import get_logger, log_handled
from treadle._types.errors import BudgetExhaustedError, ModelError
from treadle._types.events import Noted
from treadle._types.request import DecisionNames, Reply, ToolSchema

logger = get_logger()
COMPONENT = "decision"
GUARDS = {
    "give_up_guard": "_local.guards.give_up_guard:GiveUpGuard",
    "example_value_guard": "_local.guards.example_value_guard:ExampleValueGuard",
    "unsourced_value_guard": "_local.guards.unsourced_value_guard:UnsourcedValueGuard",
}
"""The guards that come with this policy, by name."""
_NO_CHOICE = "and the constraint left it no such choice"
NONE_FITS = (
    "None of the tools is for this: task_successful is false unless you know the answer for certain. "
    "Say in a sentence what you know, or that you cannot tell it here."
)
ANSWER_NOTE = "Answer the question now, from what you know."
"""The smallest models take more words than that for their answer."""
_SHORTEST = 3
"""Letters of a beginning that can be told from others."""
_TELLING = 4
"""Letters of a word of a description that says what the tool is for: in most languages the words that only hold a
sentence together are shorter."""
_SAME_STEM = 0.6
"""The part of the longer one of two words that they begin with alike: `calculate` and `calculator`."""
_CLEAR = 2.0
"""How many times as probable as the next tool the tool meant by other names has to be."""


_OURS = 0.5
"""Which part of the names that the model would write are, or mean, tools that there are. With less, a tool was there in
4 of 12 questions (of 36 rows of the leaderboard and 48 own tasks)."""


_SURE = 0.4
"""From which part of these on a tool is taken for the one that the model means."""


_SHORTEST_REPEATED, _LONGEST_REPEATED, _REPEATED = 8, 40, 0.9
"""How many words an answer has that can be told from others, and how nearly they are those of an example."""
_ACTION = re.compile(r'"action"\s*:\s*"([^"]*)"')
"""The tool that a reply names, also one that was cut off behind it."""


class ProbabilityPolicy:
    """The reply policy that reads from the model's probabilities what it wants."""

    name = COMPONENT

    def bounds(self, run: RunContext) -> Bounds | None:
        """A model is never made to call a tool that may change something: where there is one, it is asked to think
        instead. A dialect that cannot do that has its replies written to the end."""
        return _bounds(run) if _can_think(run) or all_harmless(run) else None

    async def review(
        self, run: RunContext, reply: Reply, decision: Decision | None, names: DecisionNames
    ) -> AskAgain | None:
        return await _other_choice(run, reply, decision, names)

    def repetition(self, run: RunContext) -> Repetition:
        """A model of this kind that decodes under our grammar hardly ever gets out of a loop by itself, and each round
        costs it much. The smallest ones never find the next step: once they have a result they call anything."""
        profile = run.model.profile
        if profile.tiny:
            return Repetition((1, 1, 1), one_result=True, answer_note=ANSWER_NOTE)
        limits = (1, 2, 4) if profile.small and profile.constrained else (2, 4, 6)
        return Repetition(limits, refuse_repeats=lacks_adapter(run))

    def guard(self, name: str) -> Plugin | None:
        entry = GUARDS.get(name)
        return None if entry is None else _guard(entry)


@cache
def _guard(entry: str) -> Plugin:
    """One of each: a plug-in holds settings only."""
    return load(entry)()


async def _other_choice(
    run: RunContext, reply: Reply, decision: Decision | None, names: DecisionNames
) -> AskAgain | None:
    """How to ask again, when this reply is not what the model wanted; else None, also when that cannot be known because
    a tool's name begins like that of an answer."""
    if (endless := _without_end(run, reply)) is not None:
        return endless
    bounds, state = _bounds(run), run.state
    if bounds is None or not reply.options or (decision is not None and decision.problem):
        return None
    answers = decision is not None and not decision.calls
    threshold = bounds.no_call_from if _is_new_call(run, decision) else bounds.answer_from
    harmless = all_harmless(run)
    if answers and not harmless and not _can_think(run):  # it would not be made to call any
        return None
    copied = decision is not None and _is_copied(run, decision)
    to_answer = False if copied else wants_answer(reply.options, threshold, names)
    if to_answer is None:
        return None
    answer = answer_probability(reply.options, names)
    wanted = "to answer" if to_answer else "a tool"
    why = f"the model wanted {wanted} (answer: {answer:.0%}, from {threshold:.0%} on it wants one), {_NO_CHOICE}"
    note = ""
    if copied:
        why = "the answer is one of an example in the prompt"
    if not to_answer and (fit := await _fit(run, reply, names.answers)) is not None:
        to_answer, note = True, NONE_FITS
        why = f"the model wanted a tool that is not there (that one of these fits: {fit:.0%})"
        await run.emit(Noted(COMPONENT, {"fits": round(fit, 4)}))
    if decision is not None and not copied and to_answer == answers:
        return None if to_answer else _unsure(run, reply, decision, names.answers)
    if to_answer:
        return AskAgain(why, False, tuple(tool.name for tool in state.tools), note)
    meant = tool_meant(reply.options, state.tools, names.answers)
    others = tuple(tool.name for tool in state.tools if meant and tool.name != meant)
    if harmless:
        return AskAgain(why, True, others)
    clear = meant and meant_part(reply.options, state.tools, meant, names.answers) >= _SURE
    return AskAgain(why, False, others if clear else (), think=True) if _can_think(run) else None


def _without_end(run: RunContext, reply: Reply) -> AskAgain | None:
    """Another tool where a call of one was cut off in a value that only repeats itself: the model does not know it, and
    told to write it shorter it would make one up. Asked once for a reply."""
    profile, state = run.model.profile, run.state
    if reply.finish != "length" or run.dialect.native or not (profile.small and profile.constrained):
        return None
    from treadle._local.runtime.endless import is_endless  # rarely needed

    if (
        state.constraints.answer_only
        or state.constraints.next.barred
        or len(state.tools) < 2
        or not is_endless(reply.text)
    ):
        return None
    begun, harmless = _ACTION.search(reply.text), all_harmless(run)
    if begun is None or begun[1] not in state.tool_names() or not (harmless or _can_think(run)):
        return None
    why = f"a value for {begun[1]} has no end: the model does not know it"
    return AskAgain(why, harmless, (begun[1],), think=not harmless)


def _unsure(run: RunContext, reply: Reply, decision: Decision, answers: tuple[str, ...]) -> AskAgain | None:
    """A thought before a call of a tool that the model hardly wanted: it was only the nearest of those there are."""
    if not decision.calls or len(run.state.tools) < 2 or not _can_think(run):
        return None
    name = decision.calls[0].name
    part = meant_part(reply.options, run.state.tools, name, answers)
    why = f"{name} is {part:.0%} of what the model wanted to call"
    return AskAgain(why, False, (), think=True) if part < _SURE else None


def _can_think(run: RunContext) -> bool:
    """Return whether the dialect can have a thought before a single reply."""
    return hasattr(run.dialect, "encode_with_thought")


def _is_copied(run: RunContext, decision: Decision) -> bool:
    """Return whether it answers with words of our own prompt: then it has none of its own. Said once, before any
    result."""
    if run.state.steps or COMPONENT in run.state.constraints.components or not isinstance(run.dialect, TextDialect):
        return False
    return repeats_an_example(run.dialect, decision.answer or "")


def repeats_an_example(dialect: TextDialect, answer: str) -> bool:
    """Return whether an answer is nearly, word by word, that of a worked example: a long one is not so by chance."""
    words = re.findall(r"\w+", answer.lower())
    if not _SHORTEST_REPEATED <= len(words) <= _LONGEST_REPEATED:
        return False
    answers = [re.findall(r"\w+", last.lower()) for *_, last in dialect.worked_examples if isinstance(last, str)]
    return any(SequenceMatcher(None, words, example).ratio() >= _REPEATED for example in answers)


async def _fit(run: RunContext, reply: Reply, answers: tuple[str, ...]) -> float | None:
    """How probable it is that a tool fits, when it is too improbable to call one; else None, also when it cannot be
    found out: the reply is taken as it is then."""
    thresholds = run.model.profile.decide
    if thresholds is None or thresholds.fits is None or not _stands_alone(run):
        return None
    if ours_part(reply.options, run.state.tools, answers) >= _OURS:
        return None
    from treadle._local.policy.fit_question import (  # rarely needed
        AFTER,
        FORMAT,
        MAX_TOKENS,
        about_tools,
        fit_probability,
    )

    messages = about_tools(run.state.tools, run.state.question)
    try:
        told = await run.ask(
            COMPONENT, messages, format=FORMAT, temperature=0.0, max_tokens=MAX_TOKENS, decision_after=AFTER
        )
    except (ModelError, BudgetExhaustedError) as error:
        log_handled(logger, "the question whether a tool fits failed", error=error)
        return None
    fit = fit_probability(told.options)
    return fit if fit is not None and fit < thresholds.fits else None


def _stands_alone(run: RunContext) -> bool:
    """Return whether all there is so far is a question in words, and all tools are in sight."""
    state = run.state
    return (
        state.started is not None
        and isinstance(state.started.question, str)
        and all(entry.component == "question" for entry in state.conversation.window)
        and {tool.name for tool in state.tools} == {tool.name for tool in execution_of(run).tools.at_start}
    )


def _is_new_call(run: RunContext, decision: Decision | None) -> bool:
    """Return whether it calls what has not been called before: a model that wants the same again has nothing left to
    do."""
    if decision is None or not decision.calls:
        return False
    made = [(step.tool, step.wanted) for step in run.state.steps if not step.error]
    return any((call.name, call.args) not in made for call in decision.calls)


def _bounds(run: RunContext) -> Bounds | None:
    thresholds, state = run.model.profile.decide, run.state
    if thresholds is None or not run.model.profile.decides_in(run.dialect.name) or not state.tools:
        return None
    if (
        state.constraints.answer_only
        or state.constraints.next.must_act
        or state.constraints.next.barred
        or state.constraints.next.think
    ):
        return None
    if not state.steps or state.calls.round_failed:  # there is nothing to answer with
        return Bounds(thresholds.first, thresholds.first)
    return Bounds(thresholds.later, max(thresholds.first, thresholds.later))


def tool_meant(
    options: Mapping[str, float], tools: Sequence[ToolSchema], answers: tuple[str, ...] = ANY.answers
) -> str:
    """The tool that the names mean which the model would write: by its own name, or by words of its description. What
    fits several tools counts for each of them in part.

    Empty when no tool, or more than one, could be meant."""
    scores = dict.fromkeys((tool.name for tool in tools), 0.0)
    for probability, fitting in _meanings(options, tools, _names(tools, answers)):
        for name in fitting:
            scores[name] += probability / len(fitting)
    best, *others = sorted(scores, key=lambda name: -scores[name])
    clear = scores[best] > 0 and all(scores[best] >= _CLEAR * scores[other] for other in others)
    return best if clear else ""


def ours_part(
    options: Mapping[str, float], tools: Sequence[ToolSchema], answers: tuple[str, ...] = ANY.answers
) -> float:
    """Which part of the names that the model would write are, or mean, one of the tools. What is too improbable to be
    told counts as other names."""
    names = _names(tools, answers)
    ours = sum(probability for probability, fitting in _meanings(options, tools, names) if fitting)
    return _part(options, ours, names)


def meant_part(
    options: Mapping[str, float], tools: Sequence[ToolSchema], name: str, answers: tuple[str, ...] = ANY.answers
) -> float:
    """Which part of them are, mean, or begin like, this tool."""
    names = _names(tools, answers)
    meant = sum(probability for probability, fitting in _meanings(options, tools, names) if name in fitting)
    return _part(options, meant, names)


def _names(tools: Sequence[ToolSchema], answers: tuple[str, ...]) -> DecisionNames:
    return DecisionNames(answers, tuple(tool.name for tool in tools))


def _part(options: Mapping[str, float], sum_of: float, names: DecisionNames) -> float:
    return sum_of / max(1 - answer_probability(options, names), sum_of, 1e-9)


def _meanings(
    options: Mapping[str, float], tools: Sequence[ToolSchema], names: DecisionNames
) -> Iterator[tuple[float, list[str]]]:
    """Of each beginning of a name that is no answer: how probable it is, and which tools it is or means."""
    named, known = _telling_words(tools)
    for text, probability in options.items():
        start = text.strip().lower()
        if not start or is_answer(text, names):
            continue
        fitting = [tool.name for tool in tools if tool.name.lower().startswith(start)]
        if not fitting and len(start) >= _SHORTEST:
            words = known if len(start) >= _TELLING else named
            fitting = [name for name, own in words.items() if any(_alike(start, word) for word in own)]
        yield probability, fitting


def _telling_words(tools: Sequence[ToolSchema]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The words of each tool's name; and these with those of its description that say what it is for: neither short
    ones nor those that are said of another tool as well."""
    named = {tool.name: {*_words(tool.name), tool.name.lower()} for tool in tools}
    described = {tool.name: _words(tool.description) - named[tool.name] for tool in tools}
    count = Counter(word for tool in tools for word in named[tool.name] | described[tool.name])
    telling = {
        name: named[name] | {word for word in words if len(word) >= _TELLING and count[word] == 1}
        for name, words in described.items()
    }
    return named, telling


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _alike(start: str, word: str) -> bool:
    """Return whether a beginning of a name is that of a word, or both have the same stem."""
    shared = next((n for n, (a, b) in enumerate(zip(start, word, strict=False)) if a != b), min(len(start), len(word)))
    return shared == len(start) or (shared > _SHORTEST and shared >= _SAME_STEM * max(len(start), len(word)))
