"""The workflow of one run. It holds only the run's id: everything else is in the journal."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

ADVANCE = "treadle-advance"
HEARTBEAT = timedelta(seconds=5)


@workflow.defn(name="treadle-run")
class RunWorkflow:
    """Has a worker drive the run until it ends.

    When the worker dies, Temporal starts the activity on another one, which resumes the run from the journal. When the
    run is paused, the workflow waits for a signal.
    """

    def __init__(self) -> None:
        self._signals = 0

    @workflow.run
    async def run(self, run_id: str) -> str:
        while True:
            seen = self._signals
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
            await workflow.wait_condition(lambda seen=seen: self._signals > seen)

    @workflow.signal
    def wake(self) -> None:
        """Wake a paused run: its inbox has a new item."""
        self._signals += 1
