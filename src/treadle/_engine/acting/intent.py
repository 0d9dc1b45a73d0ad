"""Hold a call against the intent of its run: what the person wants done, said before anything from outside was read.

Fixed values are compared, and what has to be looked up is looked up here, in the results that a source of the intent
has returned; where it was not asked yet, the engine asks it itself. A value that is not the only one, a source that
fails, a rule that cannot be checked: the call is outside, and a person is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any, cast

import msgspec

from treadle._engine.acting.picking import ADDRESSES, NotFound, Result, picked, same, text_like
from treadle._engine.acting.user_words import UserWords, is_default
from treadle._engine.core.execution import Execution
from treadle._safety.beside import read_beside
from treadle._tools.base import Tool, ToolOutcome
from treadle._types import events as ev
from treadle._types.intent import Intent, Permit, Permitted, Pick, Rule, Source
from treadle._types.messages import ToolCall, text_of

Execute = Callable[[Execution, ToolCall], Awaitable[ToolOutcome]]
_MAX_LOOKUPS = 50


async def inside_intents(run: Execution, tool: Tool, call: ToolCall, execute: Execute, *, sends: bool) -> bool:
    """Return whether every run around that has an intent permits a call. Permits are counted, in the log. `execute`
    makes the calls that look something up; what `sends` an address or a query is not permitted by its name alone."""
    holders = [one for one in run.around() if one.state.provenance.intent is not None]
    entries: list[tuple[Execution, int]] = []
    for holder in holders:
        entry = await _Check(run, holder, call, execute).entry(tool, sends=sends)
        if entry is None:
            return False
        entries.append((holder, entry))
    for holder, entry in entries:
        call_key = f"{run.id}:{call.id}"
        if entry >= 0 and call_key not in holder.state.provenance.permitted:
            await holder.emit(Permitted(call_key, entry, call.name))
    return True


class _Check:
    """One call, held against one intent."""

    def __init__(self, run: Execution, holder: Execution, call: ToolCall, execute: Execute) -> None:
        self._run, self._holder, self._call, self._execute = run, holder, call, execute
        self._intent = cast("Intent", holder.state.provenance.intent)
        self._parameters: Mapping[str, Any] = {}
        self._lookups = 0
        self._values_of: dict[bytes, list[Any]] = {}

    async def entry(self, tool: Tool, *, sends: bool) -> int | None:
        """Return the entry that permits the call: -1 for reading, None when there is none."""
        names = self._run.tools.names_of(tool)
        self._parameters = tool.parameters
        for source in self._intent.read:
            if not (sends and isinstance(source, str)) and await self._is_of(source, names, self._call.args):
                return -1
        call_key = f"{self._run.id}:{self._call.id}"
        for index, permit in enumerate(self._intent.act):
            if permit.ask or permit.tool not in names or not await self._obeys_permit(permit):
                continue
            # Counted after the last wait, so that two calls at the same time are two.
            counted = {**self._holder.state.provenance.permitted, **self._holder.calls.permitted}
            before = [one for one, entry in counted.items() if entry == index and one != call_key]
            if len(before) < permit.times and not self._was_made(before):
                self._holder.calls.permitted[call_key] = index
                return index
        return None

    def _was_made(self, before: list[str]) -> bool:
        """Return whether one of these calls is the same again: how often something may be done is for different
        things."""
        return bool(before) and any(
            f"{one.id}:{started.call.id}" in before and same(started.call.args, self._call.args)
            for one, started, _ in self._calls_so_far()
        )

    async def _obeys_permit(self, permit: Permit) -> bool:
        if permit.args is None:
            return await self._said(lambda words: words.contain_call(self._call.args, self._parameters))
        return await self._obeys(permit.args, self._call.args, self._parameters)

    async def _obeys(self, rules: Mapping[str, Rule], args: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
        properties: Any = parameters.get("properties") or {}
        for name, value in args.items():
            rule = rules.get(name)
            if rule is None:
                if value is None or value == [] or is_default(properties.get(name), value):
                    continue
                return False
            if not await self._allows(rule, name, value):
                return False
        return True

    async def _allows(self, rule: Rule, name: str, value: Any) -> bool:
        if rule.values is not None:
            return any(same(value, one) for one in rule.values)
        if rule.either is not None:
            return any([await self._allows(one, name, value) for one in rule.either])
        if rule.words:
            return await self._said(lambda words: words.contain(name, value))
        if rule.any is not None:
            return isinstance(value, str) and await self._may_go_out(value) and await self._has_read_only(
                self._intent.read if rule.any is True else rule.any or ()
            )  # fmt: skip
        try:
            if rule.pick is not None:
                values = await self._picked(rule.pick)
                if rule.pick.all and not isinstance(value, list):
                    return any(same(value, one) for one in values)
                return same(value, values) or (len(values) == 1 and same(value, values[0]))
            return await self._is_like(rule, rule.like, value)
        except NotFound:
            return False

    async def _is_like(self, rule: Rule, template: Any, value: Any) -> bool:
        if isinstance(template, str) and isinstance(value, str):
            names = [name for name in rule.let if f"{{{name}}}" in template]
            let = {name: [str(one) for one in await self._values(rule.let[name])] for name in names}
            choices = product(*let.values())
            return any(text_like(template, dict(zip(names, one, strict=True)), value) for one in choices)
        if isinstance(template, list) and isinstance(value, list):
            forms, items = cast("list[Any]", template), cast("list[Any]", value)
            pairs = zip(forms, items, strict=False)
            return len(forms) == len(items) and all([await self._is_like(rule, *pair) for pair in pairs])
        if isinstance(template, dict) and isinstance(value, dict):
            form, fields = cast("dict[str, Any]", template), cast("dict[str, Any]", value)
            return form.keys() == fields.keys() and all(
                [await self._is_like(rule, form[key], fields[key]) for key in form]
            )
        return same(template, value)

    async def _said(self, holds: Callable[[UserWords], bool], more: int = 0) -> bool:
        size = more + sum(map(len, self._holder.state.provenance.words))
        return await read_beside(size, lambda: holds(self._words))

    @cached_property
    def _words(self) -> UserWords:
        return UserWords(self._holder.state.provenance.words)

    # ---- what free text may carry

    async def _may_go_out(self, text: str) -> bool:
        """No address that the person has not written goes along. What an attacker writes out in words is not found:
        this saves questions about mistakes, and the sources decide."""
        return await self._said(
            lambda words: all(words.contain("", one) for form in ADDRESSES for one in set(form.findall(text))),
            len(text),
        )

    async def _has_read_only(self, sources: Sequence[str | Source]) -> bool:
        """Return whether everything that was read so far came from these sources. What a source is called elsewhere (a
        host, a file's name) is a stranger's word; so only calls count."""
        if any(_read_elsewhere(one, inside=one is not self._holder) for one in self._holder_and_inside()):
            return False
        for one, started, done in self._calls_so_far():
            decided = one.state.calls.approvals.get(done.call_id)
            own = f"{one.id}:{done.call_id}" in self._holder.state.provenance.permitted
            if own or not done.executed or (decided is not None and decided.allow and not done.source):
                continue
            tool = one.tools.toolkit.get(started.call.name)
            names = (started.call.name,) if tool is None else one.tools.names_of(tool)
            if not any([await self._is_of(source, names, started.call.args) for source in sources]):
                return False
        return True

    # ---- what the engine looks up

    async def _is_of(self, source: str | Source, names: Sequence[str], args: Mapping[str, Any]) -> bool:
        if isinstance(source, str):
            return source in names
        if source.tool not in names:
            return False
        tool = self._run.tools.get(source.tool)
        return await self._obeys(source.args, args, tool.parameters if tool else {})

    async def _values(self, rule: Rule) -> list[Any]:
        """Return every value that a rule leaves. Raises `NotFound` for a rule that has no such list."""
        if rule.values is not None:
            return list(rule.values)
        if rule.pick is None:
            raise NotFound("not a list of values")
        return await self._picked(rule.pick)

    async def _only(self, rule: Rule) -> Any:
        values = await self._values(rule)
        if len(values) != 1:
            raise NotFound("more values than are needed")
        return values[0]

    async def _picked(self, pick: Pick) -> list[Any]:
        key = msgspec.json.encode(pick)
        if key not in self._values_of:
            sources = pick.source if isinstance(pick.source, tuple) else (pick.source,)
            let = {name: await self._only(rule) for name, rule in pick.let.items()}
            results = [await self._results(source) for source in sources]
            size = sum(len(text) for source in results for _, text in source)
            self._values_of[key] = await read_beside(size, picked, pick, results, let)
        return self._values_of[key]

    async def _results(self, source: str | Source) -> list[Result]:
        """Return what a source has returned: for all values that its rules leave, not for those that the model
        chose."""
        name = source if isinstance(source, str) else source.tool
        tool = self._run.tools.get(name)
        if tool is None:
            raise NotFound(f"there is no tool {name}")
        names = self._run.tools.names_of(tool)
        made: list[Result] = [(started.call.args, _text(done)) for _, started, done in self._calls_so_far()
                if started.call.name in names and done.executed and not done.error]  # fmt: skip
        rules = {} if isinstance(source, str) else source.args
        combinations = await self._arguments(rules, tool)
        if isinstance(source, str):
            results = made
        elif combinations is None:
            results = [one for one in made if await self._obeys(rules, one[0], tool.parameters)]
        else:
            results = []
        if isinstance(source, str) and (tool.parameters.get("required") or self._acts(tool)):
            combinations = None
        for wanted in combinations or ():
            text = next((text for args, text in made if same(_without_nothing(args), wanted)), None)
            results.append((wanted, await self._look_up(tool, wanted) if text is None else text))
        if not results:
            raise NotFound(f"{name} was not asked")
        return results

    async def _arguments(self, rules: Mapping[str, Rule], tool: Tool) -> list[dict[str, Any]] | None:
        """Return each combination of arguments that the rules of a source leave, or None where they leave a choice. An
        argument that is a list takes all values of its rule together."""
        properties: Any = tool.parameters.get("properties") or {}
        choices: list[list[Any]] = []
        for name, rule in rules.items():
            if rule.pick is None and len(rule.values or ()) != 1:
                return None
            values = await self._values(rule)
            schema: Any = properties.get(name) or {}
            if schema.get("type") == "array":
                values = [[one for value in values for one in _listed(value)]]
            choices.append(values)
        return [dict(zip(rules, one, strict=True)) for one in product(*choices)]

    async def _look_up(self, tool: Tool, args: dict[str, Any]) -> str:
        """Ask a source itself. Its own policy holds; what acts is never called here."""
        self._lookups += 1
        required: Any = tool.parameters.get("required") or ()
        if self._lookups > _MAX_LOOKUPS or self._acts(tool) or not set(required) <= args.keys():
            raise NotFound(f"{tool.name} was not asked")
        mark = sha256(msgspec.json.encode((tool.name, args), order="deterministic")).hexdigest()[:12]
        call = ToolCall(f"{self._call.id}.intent-{mark}", tool.name, args)
        self._run.calls.lookups.add(call.id)
        try:
            outcome = await self._execute(self._run, call)
        finally:  # nothing that a model names like it is taken for it
            self._run.calls.lookups.discard(call.id)
        if outcome.error or not outcome.executed:
            raise NotFound(f"{tool.name} failed")
        return outcome.full if outcome.full is not None else text_of(outcome.content)

    def _acts(self, tool: Tool) -> bool:
        return any(permit.tool in self._run.tools.names_of(tool) for permit in self._intent.act)

    def _calls_so_far(self) -> Iterator[tuple[Execution, ev.ToolStarted, ev.ToolDone]]:
        for one in self._holder_and_inside():
            started: dict[str, ev.ToolStarted] = {}
            for record in one.log.records:
                event = record.event
                if isinstance(event, ev.ToolStarted):
                    started[event.call.id] = event
                elif isinstance(event, ev.ToolDone) and event.call_id in started:
                    yield one, started[event.call_id], event

    def _holder_and_inside(self) -> Iterator[Execution]:
        """The run whose intent it is, and those between it and the call."""
        for one in self._run.around():
            yield one
            if one is self._holder:
                return


def _read_elsewhere(run: Execution, *, inside: bool) -> bool:
    """Return whether something was read without a call of this run: before it, with a message, by a run inside it, by a
    provider. What a run inside another starts with, that one has read."""
    provenance, known = run.state.provenance, set[str]()
    for record in run.log.records:
        event = record.event
        if isinstance(event, ev.ToolDone):
            known.add(event.source)
        elif isinstance(event, ev.RunStarted) and inside:
            known.update(event.sources)
        elif isinstance(event, ev.RunStarted | ev.Tainted | ev.ProviderToolsUsed) and event.sources:
            return True
    return bool(provenance.brought) or not known.issuperset(provenance.sources)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _text(done: ev.ToolDone) -> str:
    return done.full if done.full is not None else text_of(done.content)


def _without_nothing(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in args.items() if value is not None}
