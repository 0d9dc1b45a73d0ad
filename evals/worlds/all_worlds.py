"""The tools of all worlds together: with these and the calculator every task set here can be run.

treadle eval evals/office.jsonl --tools evals/worlds/all_worlds.py:tools --tools calculator
"""

from __future__ import annotations

import archive
import clinic
import escape
import garden
import harbour
import library
import office
import school
import shop
import travel
import vineyard
import windfarm

from treadle import Tool


def tools() -> list[Tool]:
    worlds = (shop, office, travel, clinic, archive, windfarm, harbour, school, library, vineyard, garden, escape)
    return list({tool.name: tool for world in worlds for tool in world.tools()}.values())
