"""An answer with its grounds: each sentence with the records that have its words, in one file to check elsewhere."""

import asyncio

from treadle import Agent, ScriptedModel, open_journal, prove_answer, tool, verify_proof


@tool(effect="pure")
def rain(month: str) -> str:
    """How often it rained in a month."""
    return f"In {month} it rained on 12 days, 37 mm in all."


async def main() -> None:
    journal = open_journal("memory:")
    answer = "In May it rained on 12 days. That was 37 mm in all. The roses of Oslo suffered badly."
    model = ScriptedModel([{"name": "rain", "args": {"month": "May"}}, answer])
    result = await Agent(model, tools=[rain], journal=journal).run("Was May wet?")

    proof = await prove_answer(journal, result.run_id)
    verdict = verify_proof(proof)
    for claim in verdict.claims:
        print(f"{claim.status}: {claim.text} {claim.why or [ground.seq for ground in claim.grounds]}")
    print("last hash:", verdict.head)
    assert verdict.intact
    assert [claim.text for claim in verdict.unsupported] == ["The roses of Oslo suffered badly."]

    forged = proof.replace(b"it rained on 12 days", b"it rained on 31 days")
    print(verify_proof(forged).problems[0])
    assert not verify_proof(forged).intact


asyncio.run(main())
