# pyright: basic, reportMissingImports=false
"""An agent for Harbor, which runs benchmarks in containers: `harbor run --agent treadle.interop.harbor:HarborAgent`."""

from __future__ import annotations

import json
from typing import Any

from treadle._interop.commands import task_agent
from treadle._record.trajectory import trajectory_of
from treadle._types.errors import MissingExtraError
from treadle._version import __version__
from treadle._workspace.tools.bash import described
from treadle._workspace.tools.shell import Ended

try:
    from harbor.agents.base import BaseAgent
    from harbor.agents.capabilities import AgentCapabilities
    from harbor.environments.base import BaseEnvironment
    from harbor.models.agent.context import AgentContext
except ImportError as error:
    raise MissingExtraError("treadle.interop.harbor", "harbor") from error


class HarborAgent(BaseAgent):
    """Works with a shell in the environment of a task, on the model that Harbor names. `settings` are those of `Agent`,
    given with `--agent-kwarg`: `preset=reflective`. Writes its trajectory as ATIF."""

    capabilities = AgentCapabilities(atif=True)

    def __init__(self, *args: Any, settings: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._settings = settings or {}

    @staticmethod
    def name() -> str:
        return "treadle"

    def version(self) -> str:
        return __version__

    async def setup(self, environment: BaseEnvironment) -> None: ...

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        async def execute(command: str, seconds: int) -> str:
            done = await environment.exec(command, timeout_sec=seconds)
            return described(Ended((done.stdout or "") + (done.stderr or ""), done.return_code, "", False), seconds)

        run = task_agent(self.model_name or "", execute, self._settings).start(instruction)
        try:
            await run
        finally:  # also when Harbor stops it
            written = json.dumps(trajectory_of([run.records]))
            (self.logs_dir / "trajectory.json").write_text(written, "utf-8")
            used = run.state.usage
            context.n_input_tokens, context.n_output_tokens = used.input_tokens, used.output_tokens
            context.n_cache_tokens, context.cost_usd = used.cached_tokens, used.cost
