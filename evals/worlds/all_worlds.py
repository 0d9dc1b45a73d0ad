"""The tools of all worlds together: with these and the calculator every task set here can be run.

treadle eval evals/office.jsonl --tools evals/worlds/all_worlds.py:tools --tools calculator
"""

from __future__ import annotations

import clinic
import office
import shop
import travel

from treadle import Tool


def tools() -> list[Tool]:
    made = (tool for world in (shop, office, travel, clinic) for tool in world.tools())
    return list({tool.name: tool for tool in made}.values())
