"""What Treadle adds to a model's time, as ratios against the bare loop: the short form of benchmarks/overhead.py.

Counts are the same on every machine, so their limits are tight: what creeps in fails there. A ratio of CPU times lies
10 to 20 % apart on two processors and more beside other work, so its limit is loose: noise passes, twice the cost does
not, and a figure over its limit is measured again before the test fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "overhead.py"
LIMITS = {
    "calls": {"calls a step": 450, "modules imported besides asyncio and msgspec": 45},
    "ten_steps": {"10 steps, CPU beside bare aiohttp": 2.8},
    "two_hundred_steps": {"200 steps, CPU beside bare aiohttp": 1.3},
    "growth": {"200 steps, last 50 beside first 50, less the bytes sent": 1.5},
    "at_once": {"50 runs at once, CPU beside bare aiohttp": 2.9},
    "memory": {"200 runs at once, memory beside bare aiohttp": 1.65},
    "first_token": {"first token, CPU beside bare aiohttp": 2.8},
    "in_process": {"in process, CPU beside the bare loop": 9.0},
    "importing": {"import, CPU beside asyncio and msgspec": 1.4},
    "construction": {"agent construction, CPU beside one request's JSON": 1.5},
}
REPEATS = (1, 3, 3)
"""In each attempt: most figures are far enough below their limits to be measured once."""


def figures(names: list[str], repeats: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--short", f"--repeats={repeats}", "--json", "--only", ",".join(names)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(1800)  # takes a minute; on a busy machine, and three times, much longer
def test_overhead_stays_within_its_limits():
    left = [name for name in LIMITS if name != "memory" or sys.platform != "win32"]
    over: dict[str, dict[str, float]] = {}
    for repeats in REPEATS:
        ratios = figures(left, repeats)
        over = {name: {row: ratios[row] for row, limit in LIMITS[name].items() if ratios[row] > limit} for name in left}
        left = [name for name, rows in over.items() if rows]
        if not left:
            return
    wrong = [f"{row}: {figure:.2f}, limit {LIMITS[name][row]}" for name in left for row, figure in over[name].items()]
    pytest.fail(f"over the limit {len(REPEATS)} times in a row:\n" + "\n".join(wrong))
