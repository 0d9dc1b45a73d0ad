"""What Treadle adds to a model's time, as ratios against the bare loop: the short form of benchmarks/overhead.py.

A limit lies about half above the figure measured on a busy machine of two cores, and never more than 1.6 times above
what the project promises: noise passes, twice the cost does not. A figure over its limit is measured again before the
test fails. All times are CPU times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "overhead.py"
# In process and construction differ by processor: code that was below 5.0 and 0.8 on one has 5.3 and 0.84 on another.
LIMITS = {
    "ten_steps": {"10 steps, CPU beside bare aiohttp": 2.3},
    "two_hundred_steps": {"200 steps, CPU beside bare aiohttp": 1.3},
    "growth": {"200 steps, last 50 beside first 50, less the bytes sent": 1.5},
    "at_once": {"50 runs at once, CPU beside bare aiohttp": 2.9},
    "memory": {"200 runs at once, memory beside bare aiohttp": 1.65},
    "first_token": {"first token, CPU beside bare aiohttp": 2.8},
    "in_process": {"in process, CPU beside the bare loop": 6.0},
    "importing": {"import, CPU beside asyncio and msgspec": 2.3},
    "construction": {"agent construction, CPU beside one request's JSON": 1.0},
}
ATTEMPTS = 3


def figures(names: list[str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--short", "--json", "--only", ",".join(names)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(1800)  # takes a minute; on a busy machine, and three times, much longer
def test_overhead_stays_within_its_limits():
    left = [name for name in LIMITS if name != "memory" or sys.platform != "win32"]
    for _ in range(ATTEMPTS):
        ratios = figures(left)
        over = {name: {row: ratios[row] for row, limit in LIMITS[name].items() if ratios[row] > limit} for name in left}
        left = [name for name, rows in over.items() if rows]
        if not left:
            return
    wrong = [f"{row}: {figure:.2f}, limit {LIMITS[name][row]}" for name in left for row, figure in over[name].items()]
    pytest.fail(f"over the limit {ATTEMPTS} times in a row:\n" + "\n".join(wrong))
