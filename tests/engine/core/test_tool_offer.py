"""What stands behind the names that a run offers."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, echo, fail
from treadle._engine.core.tool_offer import ToolOffer
from treadle._engine.plugin import Plugin
from treadle._tools.external import client_tool
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.errors import DuplicateToolError
from treadle._types.state import RunState, fold

MORE = echo.replace(name="more_tools")


class Bringer(Plugin):
    tools = (MORE,)


def state(*tools: Any) -> RunState:
    return fold([ev.Record("run", 0, 0.0, ev.RunStarted("q", tools=tuple(tool.schema for tool in tools)))])


def test_a_name_is_looked_up_in_the_toolkit_and_then_among_the_plug_ins_tools():
    offer = ToolOffer(Toolkit([add]), [Bringer(), object()])
    assert (offer.get("add"), offer.get("more_tools"), offer.get("nothing")) == (add, MORE, None)


def test_only_what_is_offered_may_be_called():
    offer = ToolOffer(Toolkit([add, echo]), [Bringer()])
    assert offer.callable_tool(state(add), "add") is add
    assert offer.callable_tool(state(add), "echo") is None
    assert offer.callable_tool(state(add), "more_tools") is None
    assert offer.callable_tool(state(add, MORE), "more_tools") is MORE


def test_what_the_model_can_choose_from_has_no_withdrawn_tools():
    offer = ToolOffer(Toolkit([add, echo]), [Bringer()])
    assert list(offer.offered(state(echo, MORE)).names) == ["echo", "more_tools"]
    assert list(offer.offered(state(fail)).names) == []


def test_a_swap_waits_and_keeps_what_plug_ins_had_on_offer():
    offer = ToolOffer(Toolkit([add]), [Bringer()])
    offer.swap_later(Toolkit([echo]))
    assert offer.swap is not None
    assert offer.get("add") is add
    assert offer.apply_swap(state(add, MORE)) == ["echo", "more_tools"]
    assert offer.swap is None
    assert offer.get("add") is None


def test_a_plug_ins_tool_that_was_not_on_offer_stays_off_it():
    offer = ToolOffer(Toolkit([add]), [Bringer()])
    offer.swap_later(Toolkit([echo]))
    assert offer.apply_swap(state(add)) == ["echo"]


@pytest.mark.parametrize("name", ["add", "more_tools", "Add", "more-tools", "_add"])
def test_the_caller_cannot_bring_a_tool_that_the_agent_has(name: str):
    """Also one that only reads alike: where code calls them, they would be the same function."""
    with pytest.raises(DuplicateToolError, match=f"the tool '{name}' was brought.*another name"):
        ToolOffer(Toolkit([add]), [Bringer()], [client_tool(name)])


def test_a_tool_that_the_agent_gets_later_wins_and_the_run_is_refused():
    offer = ToolOffer(Toolkit([add]), [Bringer()], [brought := client_tool("echo")])
    assert offer.get("echo") is brought
    offer.toolkit = Toolkit([add, echo])
    assert offer.get("echo") is echo
    with pytest.raises(DuplicateToolError, match="'echo'"):
        offer.refuse_taken_names()


def test_a_swap_leaves_what_the_caller_brought():
    offer = ToolOffer(Toolkit([add]), [], [brought := client_tool("crm")])
    offer.swap_later(Toolkit([echo]))
    assert offer.apply_swap(state(add, brought)) == ["echo", "crm"]
