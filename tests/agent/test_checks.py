"""What an agent is given is checked where it is given; tests/public/test_mistakes.py has the list of mistakes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from treadle import Agent, ConfigError, Plugin, ScriptedModel, plugins
from treadle._agent import checks


class Deferred(Plugin):
    """A plain function that says that it gives an awaitable."""

    name = "deferred"

    def on_start(self, run: Any) -> Awaitable[None]:  # type: ignore[override]
        return self._later()

    async def _later(self) -> None:
        self.started = True


class Duck:
    """No subclass of ours, and a plug-in all the same."""

    started = False

    async def on_start(self, run: Any) -> None:
        self.started = True


class Toolless:
    name = "nothing but a name"


def test_plugins_of_every_kind_are_taken():
    deferred, duck, toolless = Deferred(), Duck(), Toolless()
    assert checks.plugins_of((deferred, duck, toolless)) == [deferred, duck, toolless]
    Agent(ScriptedModel(["Hi."]), None, plugins=[deferred, duck]).run_sync("?")
    assert deferred.started
    assert duck.started


def test_every_plugin_that_comes_with_treadle_is_one():
    given = (getattr(plugins, name) for name in plugins.__all__)
    kinds = [one for one in given if isinstance(one, type) and issubclass(one, Plugin)]
    assert len(kinds) > 20
    assert [problem for kind in kinds if (problem := checks._problem_of(kind))] == []


def test_one_thing_alone_is_no_list():
    assert checks.listed("fallbacks", ("a", "b")) == ["a", "b"]
    for alone in ("a", b"a", 5, None):
        with pytest.raises(ConfigError, match="fallbacks is a list"):
            checks.listed("fallbacks", alone)


def test_every_dialect_can_be_named():
    for name in ("auto", "auto:json", "native", "json", "code"):
        checks.check_dialect(name)
    with pytest.raises(ConfigError, match="unknown dialect"):
        checks.check_dialect("yaml")


def test_names_to_ask_about_may_come_from_plugins(caplog: pytest.LogCaptureFixture):
    checks.warn_about_names(["pay", "all"], [], True)
    assert not caplog.records
    checks.warn_about_names(["pay"], [], False)
    assert "there are: none" in caplog.records[0].getMessage()
