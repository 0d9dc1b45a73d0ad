# pyright: basic, reportMissingImports=false
"""An agent for Terminal-Bench: `tb run --agent-import-path treadle.interop.terminal_bench:TerminalBenchAgent`."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from treadle._interop.commands import task_agent
from treadle._types.errors import MissingExtraError
from treadle._types.ids import fresh_id

try:
    from terminal_bench.agents.base_agent import AgentResult, BaseAgent
    from terminal_bench.agents.failure_mode import FailureMode
    from terminal_bench.terminal.tmux_session import TmuxSession
except ImportError as error:
    raise MissingExtraError("treadle.interop.terminal_bench", "terminal_bench") from error


class TerminalBenchAgent(BaseAgent):
    """Types commands into the terminal of a task, on the model that `--model` names."""

    def __init__(self, model_name: str, settings: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._model, self._settings = model_name, settings or {}

    @staticmethod
    def name() -> str:
        return "treadle"

    def perform_task(self, instruction: str, session: TmuxSession, logging_dir: Path | None = None) -> AgentResult:
        async def execute(command: str, seconds: int) -> str:
            return await asyncio.to_thread(_typed, session, command, seconds)

        agent = task_agent(self._model, execute, {"on_error": "result", **self._settings})
        result = agent.run_sync(self._render_instruction(instruction))
        if logging_dir is not None:
            (logging_dir / "treadle.json").write_text(result.to_json(), "utf-8")
        failed = FailureMode.UNKNOWN_AGENT_ERROR if result.stop_reason == "error" else FailureMode.NONE
        return AgentResult(
            total_input_tokens=result.usage.input_tokens, total_output_tokens=result.usage.output_tokens,
            failure_mode=failed,
        )  # fmt: skip


def _typed(session: TmuxSession, command: str, seconds: int) -> str:
    """Type a command, wait for its end, and return what the terminal shows of it."""
    ended = f"treadle-{fresh_id()[:8]}"  # one name for all, as they have it, hangs after a command that timed out
    if re.search(r"[\n#]|&\s*\Z", command):  # something is written behind it
        quoted = command.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        command = f"eval $'{quoted}'"
    session.send_keys([f"{command}; tmux wait -S {ended}", "Enter"])
    waited = session.container.exec_run(["timeout", str(seconds), "tmux", "wait", ended])
    if waited.exit_code:
        session.send_keys(["C-c"], min_timeout_sec=0.2)
        return f"{session.get_incremental_output().rstrip()}\n[stopped after {seconds} s]"
    return session.get_incremental_output().rstrip()
