"""What type checkers are told may be passed by name is what there is at run time."""

from __future__ import annotations

import inspect
from typing import get_type_hints

from treadle import Agent, Settings
from treadle._agent.agent import AgentDetails
from treadle._engine.options import AgentOptions, FlatAgentOptions, FlatSettings, RunOptions, SettingOptions
from treadle._engine.settings import GROUPS

OWN = {"self", "model", "tools", "output_type", "options"}


def test_every_setting_is_there_with_its_type():
    told, real = get_type_hints(FlatSettings), get_type_hints(Settings)
    assert told.keys() == real.keys()
    sequences = {"imports", "packages", "files", "ask", "may", "budgets"}  # a list does as well
    assert {name for name in told if told[name] != real[name]} == sequences


def test_every_parameter_is_there():
    parameters = inspect.signature(Agent.__init__).parameters.keys() - OWN
    assert len(parameters | {"model", "tools", "output_type"}) == 12
    details = set(AgentDetails.__struct_fields__)
    assert get_type_hints(AgentOptions).keys() == parameters | details | get_type_hints(FlatSettings).keys()
    assert get_type_hints(FlatAgentOptions).keys() == details | get_type_hints(FlatSettings).keys()
    assert get_type_hints(SettingOptions).keys() - get_type_hints(FlatSettings).keys() == GROUPS.keys()
    # A client's, not those of the code that calls.
    for_servers = {"follows", "client_tools", "output_schema", "constraint"}
    given = inspect.signature(Agent.prepare).parameters.keys() - {"self", "question", "overrides"} - for_servers
    assert get_type_hints(RunOptions).keys() - get_type_hints(SettingOptions).keys() == given
