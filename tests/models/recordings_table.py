"""Prints how the recorded exchanges are read, by API and provider: `python -m tests.models.recordings_table`."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from models.contract import model_for
from models.loopback import Loopback
from models.recordings import Pair, expected, pairs
from models.test_recordings import REQUEST, SUPPORTED, answer_of, got, same
from treadle._models.base import complete
from treadle._types.errors import ModelError
from treadle._types.request import Request

COLUMNS = (
    "api",
    "provider",
    "recorded by",
    "count",
    "text",
    "calls",
    "reasoning",
    "usage",
    "finish",
    "errors typed",
    "in 7-byte pieces",
)


async def judge(pair: Pair, size: int | None) -> dict[str, bool]:
    wanted = expected(pair)
    async with Loopback([answer_of(pair, size)]) as server:
        request: Request = REQUEST.replace(stream=pair.sse)
        try:
            actual = got(await complete(model_for(pair.api, server.url, pair.provider), request))
        except ModelError as error:
            return {"errors typed": type(error) is wanted.error}
    if wanted.error:
        return {"errors typed": False}
    return {
        "text": actual.text == wanted.text,
        "calls": same(actual, wanted),
        "reasoning": actual.reasoning == wanted.reasoning,
        "usage": actual.usage == wanted.usage,
        "finish": actual.finish == wanted.finish,
    }


async def main() -> None:
    rows: dict[tuple[str, str, str], list[dict[str, bool]]] = defaultdict(list)
    for pair in SUPPORTED:
        verdict = await judge(pair, None)
        verdict["in 7-byte pieces"] = all((await judge(pair, 7)).values())
        rows[pair.api, pair.provider, pair.repo.split("+")[-1]].append(verdict)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for key, verdicts in sorted(rows.items()):
        print(
            f"| {' | '.join(key)} | {len(verdicts)} | {' | '.join(share(verdicts, column) for column in COLUMNS[4:])} |"
        )
    everything = [verdict for verdicts in rows.values() for verdict in verdicts]
    shares = " | ".join(share(everything, column) for column in COLUMNS[4:])
    print(f"| all |  |  | {len(everything)} of {len(pairs())} | {shares} |")


def share(verdicts: list[dict[str, bool]], column: str) -> str:
    judged = [verdict[column] for verdict in verdicts if column in verdict]
    return f"{sum(judged)}/{len(judged)}" if judged else "-"


if __name__ == "__main__":
    asyncio.run(main())
