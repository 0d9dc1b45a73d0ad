"""A real small model under each dialect's constraint cannot write what the dialect cannot read."""

from __future__ import annotations

import pytest

from dialects.samples import TEXT_NAMES, TOOLS
from kit import go
from local.local_kit import GUARD, SECONDS, sensible
from treadle._dialects.registry import get_dialect
from treadle._models.base import complete
from treadle._types.messages import UserMessage
from treadle._types.request import Request


@pytest.mark.model
@GUARD
@pytest.mark.parametrize(
    ("name", "must_answer"), [*((name, False) for name in TEXT_NAMES), ("schema", True), ("action", True)]
)
def test_every_constrained_reply_is_readable(name: str, must_answer: bool):
    dialect = get_dialect(name)

    seed = 3 if name == "action" else 2  # with these, the replies come to an end

    async def main() -> None:
        model = sensible()
        wanted = dialect.encode(TOOLS, model.profile, must_answer=must_answer).format
        messages = (UserMessage("Say no. Do not write JSON."),)
        reply = await complete(model, Request(messages, format=wanted, temperature=1.2, seed=seed, max_tokens=60))
        decision = dialect.decode(reply, TOOLS)
        if reply.finish == "stop":
            # No constraint that all servers know forbids an empty answer: it is read as such, and asked for again.
            if '"final_answer": ""' in reply.text:
                assert decision.problem
                return
            assert not decision.problem, reply.text
            assert not decision.repaired, reply.text
            assert bool(decision.calls) != (decision.answer is not None) or name == "array"
        if must_answer:
            assert not decision.calls

    go(main(), SECONDS)
