"""A run driven from the terminal: it is shown, Ctrl-C stops it, and the user is asked when a tool needs approval."""

from __future__ import annotations

import asyncio
import sys

from treadle._cli.display.base import Display
from treadle._cli.driving.interrupts import StopWork
from treadle._cli.driving.keyboard import Keyboard, LineBuffer
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._plugins.guards.approval import Approval
from treadle._types.errors import RunEndedError
from treadle._types.messages import ToolCall


class Conductor:
    """Connects a run with its display and the user at the keyboard.

    With `talk`, a line typed while the run works is sent to it; a line with a slash is kept until the run has ended.
    """

    def __init__(self, *, talk: bool = False, can_ask: bool | None = None) -> None:
        self.talk = talk
        self.can_ask = (
            sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()) if can_ask is None else can_ask
        )
        self.left_over = ""
        """What was typed but not sent when the run ended."""
        self.commands: list[str] = []
        """Lines with a slash that were typed while the run worked."""
        self.unsent: list[str] = []
        """Lines that came too late for the run that was under way."""
        self._display: Display | None = None
        self._keyboard: Keyboard | None = None
        self._line = LineBuffer()
        self._always: set[str] = set()
        self._decision: asyncio.Future[str] | None = None
        self._run: Run | None = None

    def approval(self) -> Approval:
        """The plug-in that asks the user, or pauses the run where there is no terminal to ask at."""
        return Approval(self._ask if self.can_ask else None)

    async def drive(self, agent: Agent, run: Run, display: Display, *, say: str = "") -> RunResult:
        """Show and drive a run until it ends or pauses. `say` is a message to a stored run before it is resumed."""
        self._display, self._run = display, run
        run.subscribe(display.feed)
        if say and run.state.finished is None:
            run.send(say)
        with StopWork(self._clean_up) as interrupt:
            interrupt.cancel_by(asyncio.get_running_loop(), self._stop)
            try:
                if self.talk:
                    self._listen()
                result = await agent.launch(run)
            except BaseException:
                display.close()
                raise
            finally:
                self._stop_listening()
                self.left_over, self._line.text = self._line.text, ""
        display.finish(result)
        display.close()
        return result

    def _stop(self) -> None:
        if self._run is not None and self._display is not None:
            self._display.say("stopping (Ctrl-C again exits at once)")
            self._run.cancel()

    def _clean_up(self) -> None:
        self._stop_listening()
        if self._display is not None:
            self._display.close()

    # ---- the keyboard

    def _listen(self) -> None:
        self._keyboard = Keyboard(self._on_keys, raw=self._display is not None and self._display.live)
        self._keyboard.__enter__()

    def _stop_listening(self) -> None:
        if self._keyboard is not None:
            self._keyboard.close()
            self._keyboard = None

    def _on_keys(self, keys: str) -> None:
        if self._decision is not None:
            key = next((key for key in keys.lower() if key in "ynal"), "")
            if key and not self._decision.done():
                self._decision.set_result(key)
            return
        assert self._display is not None
        assert self._run is not None
        for line in self._line.feed(keys):
            if line.startswith("/"):
                self.commands.append(line)
                self._display.say(f"{line}: after this answer")
            else:
                self._send(line)
        self._display.typed(self._line.text)

    def _send(self, line: str) -> None:
        assert self._display is not None
        assert self._run is not None
        try:
            self._run.send(line)
        except RunEndedError:
            self.unsent.append(line)
            self._display.say(f"not sent, the answer is ready: {line}")
        else:
            self._display.say(f"sent: {line}")

    async def _ask(self, call: ToolCall) -> bool | None:
        if call.name in self._always:
            return True
        assert self._display is not None
        self._decision = asyncio.get_running_loop().create_future()
        listening = self._keyboard is not None
        if not listening:
            self._listen()
        self._display.ask(call)
        try:
            key = await self._decision
        finally:
            self._decision = None
            self._display.ask(None)
            if not listening:
                self._stop_listening()
        if key == "a":
            self._always.add(call.name)
        return True if key in ("y", "a") else None if key == "l" else False
