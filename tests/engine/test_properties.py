"""The invariants over random scripts: dialects, broken replies, failing and slow tools, interrupts, cancels, trims."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import assert_paired, call, go
from scripts import BOUND, TEXT, TOOLS, actions, dialects, reply
from treadle import Agent, RetryPolicy, ScriptedModel, TreadleError
from treadle._engine.core.blueprint import Origin
from treadle._engine.run import Run, new_run
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import Message
from treadle._types.request import RawCall, Reply
from treadle._types.state import fold


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(reply, max_size=12),
    dialect=dialects,
    acts=actions,
    trim=st.sampled_from([None, 3, 6]),
    one=st.booleans(),
)
def test_every_run_ends_whole(
    script: list[Any], dialect: str, acts: list[tuple[int, str]], trim: int | None, one: bool
):
    native = dialect in ("auto", "native")
    model = ScriptedModel([*script, "the end"], repeat_last=True, abilities={} if native else TEXT)
    held: list[Run] = []

    async def main() -> None:
        agent = Agent(
            model, TOOLS, dialect=dialect, max_iterations=BOUND, max_history_messages=trim, one_tool_per_step=one,
            retry=RetryPolicy(attempts=3, base=0.0),
        )  # fmt: skip
        run = agent.start(
            "question", history=[{"role": "user", "content": "before"}, {"role": "assistant", "content": "said"}]
        )
        held.append(run)
        requests = 0

        def act(record: Any) -> None:
            nonlocal requests
            if type(record.event).__name__ == "ThinkStarted":
                requests += 1
                for at, what in acts:
                    if at == requests:
                        if what == "send":
                            run.send("wait, one more thing")
                        elif what == "cancel":
                            run.cancel()

        run.subscribe(act)
        try:
            await run
        except TreadleError:
            raise AssertionError("this preset never raises") from None

    go(main())
    run = held[0]
    result = run.result()
    assert result.stop_reason in ("answer", "final_tool", "limit", "stuck", "empty", "cancelled", "error")
    # termination: iterations, retries, interrupts' extra iterations, one forced answer
    assert len(model.requests) <= (BOUND + 10) * 3 + 3
    # pairing: in the whole conversation, and in every request of a native run
    assert_paired(result.messages)
    for request in model.requests:
        assert_paired(request.messages)
    # replay: the log alone gives the same state
    again = fold(run.records)
    assert again.messages() == run.state.messages()
    assert again.usage == run.state.usage
    assert [entry.message for entry in again.conversation.window] == [
        entry.message for entry in run.state.conversation.window
    ]
    # prefix: loop requests extend each other between declared breaks
    check_prefixes(model.requests, run)


def check_prefixes(requests: list[Any], run: Run) -> None:
    breaks = len(run.state.conversation.breaks)
    broken = 0
    last: tuple[Message, ...] = ()
    for request in requests:
        if request.component not in ("loop", "repair"):
            continue
        now = tuple(request.messages)
        if now[: len(last)] != last:
            broken += 1
        last = now
    assert broken <= breaks, f"{broken} prefix breaks, {breaks} declared"


@settings(max_examples=40, deadline=None)
@given(script=st.lists(reply, min_size=1, max_size=8), dialect=dialects, data=st.data())
def test_a_log_cut_anywhere_can_be_gone_on_with(script: list[Any], dialect: str, data: st.DataObject):
    """Resume from every prefix of the log ends like a run of its own: whole, and without repeating a finished call."""
    native = dialect in ("auto", "native")

    def agent(replies: list[Any]) -> tuple[Agent, ScriptedModel]:
        model = ScriptedModel([*replies, "the end"], repeat_last=True, abilities={} if native else TEXT)
        return Agent(model, TOOLS, dialect=dialect, max_iterations=BOUND, retry=RetryPolicy(attempts=1)), model

    async def main() -> None:
        first, _ = agent(script)
        run = first.start("question")
        await run
        cut = data.draw(st.integers(1, len(run.records)))
        second, _ = agent([])
        partial = await second.load(run)
        replica = new_run(partial.blueprint, Origin(run_id=run.id, question="question"), records=run.records[:cut])
        done = {step.call_id: step.observation for step in replica.state.steps}
        result = await second.launch(replica)
        assert_paired(result.messages)
        assert result.stop_reason in ("answer", "final_tool", "limit", "stuck", "empty", "cancelled", "error")
        for step in result.steps:
            if step.call_id in done:
                assert step.observation == done[step.call_id]

    go(main())


ADVERSARIES = {
    "never json": "I would rather talk about the weather.",
    "the same call for ever": call("echo", text="again"),
    "unknown tools": call("no_such_tool"),
    "empty replies": "",
    "endless output": "x" * 40_000,
    "1 000 arguments": call("echo", **{f"k{i}": i for i in range(1_000)}),
    "half a call": Reply(calls=(RawCall("c", "echo", '{"text": "ab'),), finish="length"),
    "refusal": RequestRefusedError("no", status=400),
    "markup": "<tool_call>" * 300,
    "deep": "[" * 10_000,
}


def test_adversarial_models_end_within_the_bound():
    for name, entry in ADVERSARIES.items():
        for dialect in ("auto", "json", "action", "array", "schema", "direct", "brief"):
            model = ScriptedModel([entry], repeat_last=True, abilities={} if dialect == "auto" else TEXT)
            result = go(
                Agent(model, TOOLS, dialect=dialect, max_iterations=12, retry=RetryPolicy(attempts=1)).run(
                    "q", on_error="result"
                ),
                limit=60,
            )
            assert len(model.requests) <= 12 + 3, (name, dialect, len(model.requests))
            assert result.stop_reason in ("answer", "limit", "stuck", "empty", "error"), (
                name,
                dialect,
                result.stop_reason,
            )
            assert result.answer or result.error, (name, dialect)
            assert_paired(result.messages)
