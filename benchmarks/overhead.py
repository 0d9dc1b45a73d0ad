"""What Treadle adds to a model's time: CPU beside a bare loop that does the same work, in one process, as ratios.

    python benchmarks/overhead.py                     # everything, a markdown table
    python benchmarks/overhead.py --short --repeats 3 # fewer and smaller measurements
    python benchmarks/overhead.py --only growth       # some rows

Never absolute times where a ratio says it: both sides are measured turn by turn on the same machine, and the least of
several is compared. The row beside httpx is there when httpx is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from timeit import timeit

import overhead_http as http
from bare import QUESTION, SYSTEM, WIRE_TOOL, Bare, encode, wide_session
from measuring import fresh_process, least_cpu, serving, times
from overhead_http import TOOL, Stage

from treadle import Agent, ScriptedModel

STEPS = 10
OURS = "from treadle import Agent, tool, OpenAIModel"
FLOOR = "import asyncio, msgspec"
"""What no version of the library could do without."""


def tool_calls(steps: int) -> list[dict[str, object]]:
    return [{"name": "calculator", "args": {"expression": f"{n + 1}*7"}, "id": f"call_{n}"} for n in range(steps)]


async def in_process(stage: Stage) -> dict[str, float]:
    """Steps a second with a model that answers at once, and the same loop bare: stdlib json, no HTTP."""

    async def ours() -> None:
        result = await Agent(ScriptedModel([*tool_calls(STEPS), "FINAL"]), [TOOL], system=SYSTEM).run(QUESTION)
        assert result.answer == "FINAL"

    def call(number: int) -> dict[str, object]:
        arguments = json.dumps({"expression": f"{number + 1}*7"})
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "function": {"arguments": arguments}}],
        }

    messages = [*(call(number) for number in range(STEPS)), {"role": "assistant", "content": "FINAL"}]
    texts = [json.dumps({"choices": [{"message": message}]}).encode() for message in messages]

    async def post(body: bytes) -> bytes:
        return texts[body.count(b'"role":"tool"')]

    runs = 20
    mine, theirs = await least_cpu(times(runs, ours), times(runs, Bare(post).run), stage.repeats * 2)
    return {
        "in process, CPU beside the bare loop": mine / theirs,
        "in process, steps per CPU second": runs * STEPS / mine,
        "in process, steps per CPU second of the bare loop": runs * STEPS / theirs,
    }


async def calls(stage: Stage) -> dict[str, float]:
    """Count calls of functions and modules imported: the same on every machine, and beside any load."""

    async def run(steps: int) -> int:
        agent, before = Agent(ScriptedModel([*tool_calls(steps), "FINAL"]), [TOOL], system=SYSTEM), counter.calls
        sys.setprofile(counter)
        await agent.run(QUESTION)
        sys.setprofile(None)
        return counter.calls - before

    counter = CallCounter()
    await run(STEPS)
    code = "import sys; {}; print(len(sys.modules))"
    modules = fresh_process("-c", code.format(OURS)) - fresh_process("-c", code.format(FLOOR))
    return {
        "calls a step": (await run(3 * STEPS) - await run(STEPS)) / (2 * STEPS),
        "modules imported besides asyncio and msgspec": modules,
    }


class CallCounter:
    """Count the calls of functions, of C and of Python, while it is the profile function."""

    calls = 0

    def __call__(self, _frame: object, event: str, _argument: object) -> None:
        self.calls += event in ("call", "c_call")


async def importing(stage: Stage) -> dict[str, float]:
    code = "import time; began = time.process_time(); {}; print(time.process_time() - began)"
    ours, floor = 9e9, 9e9
    fresh_process("-c", code.format(OURS))
    for _ in range(stage.repeats):
        ours = min(ours, fresh_process("-c", code.format(OURS)))
        floor = min(floor, fresh_process("-c", code.format(FLOOR)))
    return {"import, CPU beside asyncio and msgspec": ours / floor, "import, ms of CPU": ours * 1e3}


async def construction(stage: Stage) -> dict[str, float]:
    """Beside the JSON of the bare loop's first request, written and read once."""
    model = ScriptedModel(["x"])
    request = {
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
        "tools": [WIRE_TOOL],
    }
    ours = theirs = 9e9
    for _ in range(10 * stage.repeats):
        theirs = min(theirs, timeit(lambda: json.loads(encode(request)), timer=time.process_time, number=50) / 50)
        ours = min(ours, timeit(lambda: Agent(model, [TOOL]), timer=time.process_time, number=50) / 50)
    return {
        "agent construction, CPU beside one request's JSON": ours / theirs,
        "agent construction, microseconds": ours * 1e6,
    }


Measure = Callable[[Stage], Awaitable[dict[str, float]]]
MEASURES: dict[str, Measure] = {
    "ten_steps": http.ten_steps,
    "ten_steps_httpx": http.ten_steps_httpx,
    "two_hundred_steps": http.two_hundred_steps,
    "growth": http.growth,
    "at_once": http.at_once,
    "memory": http.memory,
    "first_token": http.first_token,
    "journal": http.journal,
    "in_process": in_process,
    "calls": calls,
    "importing": importing,
    "construction": construction,
}


async def measure(base: str, names: list[str], *, repeats: int, crowd: int) -> dict[str, float]:
    rows: dict[str, float] = {}
    async with wide_session() as session:
        for name in names:
            rows.update(await MEASURES[name](Stage(base, session, repeats, crowd)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--repeats", type=int, default=9, help="of a measurement: the least counts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default=",".join(MEASURES), help="names, with commas between them: %(default)s")
    args = parser.parse_args()
    with serving() as base:
        rows = asyncio.run(measure(base, args.only.split(","), repeats=args.repeats, crowd=50 if args.short else 200))
    if args.json:
        print(json.dumps(rows))
        return
    print("| measure | figure |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value:,.2f} |" if value < 1000 else f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
