"""The workflow of one run. It holds nothing but the run's id: everything else is in the journal."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

ADVANCE = "treadle-advance"
HEARTBEAT = timedelta(seconds=5)


@workflow.defn(name="treadle-run")
class RunWorkflow:
    """Has a worker drive the run; when a worker dies another goes on from the journal; when the run waits for a person, so do we."""

    def __init__(self) -> None:
        self._woken = 0

    @workflow.run
    async def run(self, run_id: str) -> str:
        while True:
            seen = self._woken
            outcome: str = await workflow.execute_activity(
                ADVANCE,
                run_id,
                start_to_close_timeout=timedelta(days=7),
                heartbeat_timeout=HEARTBEAT,
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=5)
                ),
            )
            if outcome != "paused":
                return outcome
            await workflow.wait_condition(lambda known=seen: self._woken > known)

    @workflow.signal
    def wake(self) -> None:
        """Something lies in the inbox of a run that waits."""
        self._woken += 1
