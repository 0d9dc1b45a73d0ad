"""The hooks of plug-ins: found by what is overridden, called in order, kept from breaking a run."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kit import go
from treadle._engine.core.hooks import HOOKS, Hooks, Pause, plugin_name, raise_together, run_hooks
from treadle._engine.plugin import Plugin
from treadle._types.errors import BudgetExhaustedError, JournalError, LimitError, TreadleError
from treadle._types.messages import ToolCall


class Quiet(Plugin):
    name = "quiet"


class Listener(Plugin):
    name = "listener"

    def __init__(self, seen: list[Any], label: str = "", error: BaseException | None = None) -> None:
        self.seen, self.label, self.error = seen, label, error

    async def on_start(self, run: Any) -> None:
        self.seen.append((self.label, run))
        if self.error is not None:
            raise self.error


class Child(Listener):
    """Inherits one hook and adds another."""

    async def before_round(self, run: Any) -> None:
        pass


class Unrelated:
    """Not a `Plugin` at all, but with a hook."""

    async def on_end(self, run: Any, result: Any) -> None:
        pass


def names(hooks: Hooks) -> set[str]:
    return {name for name in HOOKS if getattr(hooks, name)}


def test_only_what_is_overridden_is_called():
    assert names(Hooks([])) == names(Hooks([Quiet(), Plugin()])) == set()
    assert names(Hooks([Listener([])])) == {"on_start"}
    assert names(Hooks([Child([]), Unrelated()])) == {"on_start", "before_round", "on_end"}


def test_every_hook_of_a_plug_in_is_one_the_engine_calls():
    own = {name for name in vars(Plugin) if not name.startswith("_")} - {
        "name", "tools", "brings_tools", "advisory", "loop_only", "prompts", "instructions", "harmless", "mask",
        "masks", "takes_back", "takes_files", "acts_alone",
    }  # fmt: skip
    assert own == set(HOOKS)


def test_they_are_called_in_the_order_of_the_list():
    seen: list[Any] = []
    go(run_hooks(Hooks([Listener(seen, "a"), Quiet(), Listener(seen, "b")]).on_start, "the run"))
    assert seen == [("a", "the run"), ("b", "the run")]


def test_one_that_fails_is_logged_and_the_others_are_called(caplog: pytest.LogCaptureFixture):
    seen: list[Any] = []
    hooks = Hooks([Listener(seen, "a", ZeroDivisionError()), Listener(seen, "b")])
    with caplog.at_level(logging.WARNING, "treadle"):
        go(run_hooks(hooks.on_start, None))
    assert [label for label, _ in seen] == ["a", "b"]
    assert caplog.messages == ["plug-in listener failed in on_start and is ignored: ZeroDivisionError"]


def test_the_traceback_is_for_those_who_log_more(caplog: pytest.LogCaptureFixture):
    """A failure that was dealt with does not print a traceback into a program that configures no logging."""
    for level, shown in (("WARNING", False), ("INFO", True)):
        caplog.clear()
        with caplog.at_level(level, "treadle"):
            go(run_hooks(Hooks([Listener([], error=ValueError("first\nsecond"))]).on_start, None))
        assert caplog.messages[0] == "plug-in listener failed in on_start and is ignored: ValueError: first"
        assert ("Traceback" in caplog.text) == shown


@pytest.mark.parametrize("error", [Pause("wait"), LimitError("x"), BudgetExhaustedError("x"), JournalError("x")])
def test_what_is_raised_on_purpose_is_passed_on(error: Exception):
    seen: list[Any] = []
    with pytest.raises(type(error)):
        go(run_hooks(Hooks([Listener(seen, "a", error), Listener(seen, "b")]).on_start, None))
    assert len(seen) == 1


def test_an_error_of_ours_that_is_none_of_these_is_ignored_like_any_other():
    go(run_hooks(Hooks([Listener([], error=TreadleError("x"))]).on_start, None))


def test_a_plug_in_without_a_name_goes_by_its_class():
    assert plugin_name(Listener([]).on_start) == "listener"
    assert plugin_name(Unrelated().on_end) == "Unrelated"


def test_joined_pauses_keep_the_reason_of_each_call():
    first, second = ToolCall("c1", "pay"), ToolCall("c2", "send")
    with pytest.raises(Pause) as caught:
        raise_together([Pause("approval of pay", [first]), Pause("approval of send", [second])])
    assert caught.value.reasons() == {"c1": "approval of pay", "c2": "approval of send"}
