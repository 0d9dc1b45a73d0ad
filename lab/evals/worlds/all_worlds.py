"""The tools of all worlds together: with these and the calculator every task set here can be run.

treadle eval lab/evals/office.jsonl --tools lab/evals/worlds/all_worlds.py:tools --tools calculator
"""

from __future__ import annotations

import apiary
import archive
import bindery
import bowling
import carwash
import clinic
import driving
import escape
import garden
import golf
import harbour
import karaoke
import laundry
import library
import office
import pawnbroker
import salon
import school
import shop
import travel
import vineyard
import windfarm

from treadle import Tool


def tools() -> list[Tool]:
    worlds = (
        shop, office, travel, clinic, archive, windfarm, harbour, school, library, vineyard, garden, escape,
        driving, karaoke, salon, golf, bowling, bindery, laundry, apiary, pawnbroker, carwash,
    )  # fmt: skip
    return list({tool.name: tool for world in worlds for tool in world.tools()}.values())
