"""What no rule decides, a judge may; the engine checks what can be checked, and a proof says who it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ConfigError, ScriptedModel, prove_answer, tool, verify_proof
from treadle._journal.memory import MemoryJournal
from treadle.plugins import Judge


@tool(effect="unsafe", identifies="order")
async def refund(order: int) -> str:
    """Refund an order."""
    return "refunded 30 euros" if order == 4711 else "Error: card expired"


@tool(effect="pure")
async def read() -> str:
    """Read the notes."""
    return "The board rejected the offer of the union on 3 May 2024."


def verdict(sentence: int, did: str = "no claim", passage: str = "neither") -> dict[str, Any]:
    return {"sentence": sentence, "call": did, "passage": passage}


def judged(answer: str, *verdicts: dict[str, Any], judge: Judge | None = None) -> Any:
    """The claims of a proof, which is verified, and the requests that were made."""

    async def main() -> Any:
        journal = MemoryJournal()
        said = [] if judge else [json.dumps({"verdicts": list(verdicts)})]
        model = ScriptedModel([[call("refund", order=4711), call("refund", order=12), call("read")], answer, *said])
        agent = Agent(model, [refund, read], journal=journal, plugins=[judge or Judge()], receipts="off")
        result = await agent.run("Refund 4711 and 12.")
        proof = verify_proof(await prove_answer(journal, result.run_id))
        assert proof.intact, proof.problems
        return [(claim.status, claim.by != "") for claim in proof.claims], model.requests

    return go(main())


@pytest.mark.parametrize(
    ("answer", "said", "status"),
    [
        ("Everything you asked for was done.", verdict(1, "c1"), ("receipted", True)),
        ("Everything you asked for was done.", verdict(1, "none"), ("contradicted", True)),
        ("Everything you asked for was done.", verdict(1, "no claim"), ("unsupported", False)),
        # the engine checks: a call that failed, one without the values of the sentence
        ("Everything you asked for was done.", verdict(1, "c2"), ("unsupported", False)),
        ("Order 4711 was refunded with 77.50 euros.", verdict(1, "c1"), ("unsupported", False)),
        ("Order 4711 will be settled within 5 days.", verdict(1, "c1"), ("receipted", True)),
        ("The union's offer was rejected by the board.", verdict(1, "no claim", "says so"), ("supported", True)),
        ("The board accepted the offer of the union.", verdict(1, passage="says otherwise"), ("contradicted", True)),
    ],
)
def test_it_decides_what_no_rule_does(answer: str, said: dict[str, Any], status: tuple[str, bool]):
    assert judged(answer, said)[0] == [status]


def test_only_what_is_open_is_asked_in_one_call():
    answer = "Order 4711 was refunded. Order 12 was refunded. Everything is done. Anything else?"
    claims, requests = judged(answer, verdict(1, "c1"))
    assert [status for status, _ in claims] == ["receipted", "contradicted", "receipted", "empty"]
    assert "1. Everything is done.\n" in f"{requests[-1].messages[-1].content}\n"
    assert "2. " not in requests[-1].messages[-1].content
    assert len(judged("Order 4711 was refunded.")[1]) == 2, "nothing is open: nobody is asked"


def test_an_installed_entailment_model_has_a_name_and_costs_no_call():
    async def entails(passage: str, sentence: str) -> Any:
        return "entailment" if "rejected" in passage and "turned" in sentence else "neutral"

    answer = "The board turned down the offer of the union on 3 May 2024."
    claims, requests = judged(answer, judge=Judge(entails=entails, called="nli"))
    assert (claims, len(requests)) == ([("supported", True)], 2)
    with pytest.raises(ConfigError, match="needs a name"):
        Judge(entails=entails)
