"""A run driven from the terminal: it is shown, Ctrl-C stops it, and the user is asked when a tool needs approval."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence

from treadle._agent.agent import Agent
from treadle._cli.display.base import Display
from treadle._cli.driving.interrupts import StopWork
from treadle._cli.driving.keyboard import Keyboard, LineBuffer, plain_keys
from treadle._cli.driving.question import Decided, Question, Questions
from treadle._engine.context import RunContext
from treadle._engine.core.decisions import Answer
from treadle._engine.core.hooks import Pause
from treadle._engine.result import RunResult
from treadle._engine.run import Run
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
        self.allowed: set[str] = set()
        """Tools that need not be asked about in this chat; `all` for every one."""
        self._display: Display | None = None
        self._keyboard: Keyboard | None = None
        self._line = LineBuffer()
        self._begun = False
        """The line was begun before the question: it is a message to the run, however it goes on."""
        self._question: Question | Questions | None = None
        self._decided: asyncio.Future[Decided] | None = None
        self._asking = asyncio.Lock()
        self._run: Run | None = None

    def approval(self) -> Approval:
        """Return the plug-in that asks the user, or pauses the run where there is no terminal to ask at."""
        return AskUser(self)

    async def drive(self, agent: Agent, run: Run, display: Display, *, say: str = "") -> RunResult:
        """Show and drive a run until it ends or pauses. `say` is a message to a stored run before it is resumed."""
        self._display, self._run = display, run
        run.subscribe(display.feed)
        if say and run.state.finished is None:
            run.send(say)
        loop = asyncio.get_running_loop()
        with StopWork(self._clean_up) as interrupt, interrupt.cancel_by(loop, self._stop):
            try:
                if self.talk:
                    self._listen(raw=display.live)
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

    def _listen(self, *, raw: bool) -> None:
        if self._keyboard is not None and self._keyboard.raw == raw:
            return
        self._stop_listening()
        self._keyboard = Keyboard(self._on_keys, self._on_end, raw=raw)

    def _stop_listening(self) -> None:
        if self._keyboard is not None:
            self._keyboard.close()
            self._keyboard = None

    def _on_keys(self, keys: str) -> None:
        assert self._display is not None
        for key in plain_keys(keys):  # one by one: each may change what the next one means
            lines = self._line.lines(key)
            if self._question is not None and not self._begun:
                for line in lines:
                    self._answer(line)
            else:
                for line in lines:
                    self._send(line)
                self._begun = self._begun and bool(self._line.text)
        self._display.typed(self._line.text, message=self._question is None or self._begun)

    def _on_end(self) -> None:
        """Leave what is asked open: the terminal is gone, and nobody can decide any more."""
        self.can_ask = False
        self._decide(Decided(None))

    def _send(self, line: str) -> None:
        if not line.strip() or not self.talk:
            return
        assert self._display is not None
        assert self._run is not None
        if line.startswith("/"):
            self.commands.append(line)
            self._display.say(f"{line}: after this answer")
        else:
            try:
                self._run.send(line)
            except RunEndedError:
                self.unsent.append(line)
                self._display.say(f"not sent, the answer is ready: {line}")
            else:
                self._display.say(f"sent: {line}")

    # ---- questions

    async def ask(self, run: RunContext, call: ToolCall) -> Answer | None:
        """Return the user's decision about a call; None leaves it open. Questions are asked one after the other."""
        async with self._asking:
            if (earlier := self._earlier(run, call)) is not None or not self.can_ask:
                return earlier
            return await self._decision(Question(call, run.tool(call.name), _why(run, call)))

    async def ask_all(self, run: RunContext, calls: Sequence[ToolCall]) -> Mapping[str, Answer] | None:
        """Return the user's decision about several calls of one reply; what it leaves out is asked about by itself."""
        async with self._asking:
            before = {call.id: answer for call in calls if (answer := self._earlier(run, call)) is not None}
            rest = [call for call in calls if call.id not in before]
            if len(rest) < 2 or not self.can_ask:
                return before
            answer = await self._decision(Questions([(call, _why(run, call)) for call in rest]))
            if answer is None:
                raise Pause("several calls", rest, {call.id: _why(run, call) for call in rest})
            return {**before, **(dict.fromkeys((call.id for call in rest), answer) if answer else {})}

    def _earlier(self, run: RunContext, call: ToolCall) -> Answer | None:
        """The answer that the user has given before."""
        if run.allowed_for_run(call):
            return {"allow": True, "note": "allowed for this run"}
        # A tool that was allowed by its name is asked about all the same when the reason is what the run has read.
        named = "all" in self.allowed or (call.name in self.allowed and not run.why_asked(call.id))
        return {"allow": True, "by": "/approve"} if named else None

    async def _decision(self, question: Question | Questions) -> Answer | None:
        assert self._display is not None
        self._decided = asyncio.get_running_loop().create_future()
        self._listen(raw=True)
        assert self._keyboard is not None
        # What was typed until now was not meant for this question: it goes where it would have gone without one.
        self._on_keys(self._keyboard.drain())
        if not self.talk:
            self._line.text = ""
        self._question, self._begun = question, bool(self._line.text)
        self._display.ask(question.text, question.words)
        self._display.typed(self._line.text, message=self._begun)
        try:
            return (await self._decided).answer
        finally:
            self._end_question(self._display)

    def _end_question(self, display: Display) -> None:
        if self._question is not None and not self._begun:  # interrupted in the middle of an answer
            self._line.text = ""
        self._question = self._decided = None
        display.ask()
        display.typed(self._line.text)
        if self.talk and self.can_ask:
            self._listen(raw=display.live)
        else:
            self._stop_listening()

    def _answer(self, line: str) -> None:
        assert self._display is not None
        assert self._question is not None
        before = self._question.text
        reading = self._question.read(line)
        if isinstance(reading, Decided):
            self._question = None  # what follows is no answer to it
            self._decide(reading)
            return
        self._line.text = reading.line
        self._display.say(reading.text)
        if self._question.text != before:
            self._display.ask(self._question.text, self._question.words)

    def _decide(self, decided: Decided) -> None:
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(decided)


class AskUser(Approval):
    """Asks the user at this terminal; without one, the run pauses."""

    def __init__(self, conductor: Conductor) -> None:
        super().__init__()
        self._conductor = conductor

    async def on_approval(self, run: RunContext, call: ToolCall) -> Answer | None:
        return await self._conductor.ask(run, call)

    async def on_approvals(self, run: RunContext, calls: Sequence[ToolCall]) -> Mapping[str, Answer] | None:
        return await self._conductor.ask_all(run, calls)


def _why(run: RunContext, call: ToolCall) -> str:
    by = f"asked for by the agent {run.agent_name}" if run.depth else ""
    return ", ".join(text for text in (run.why_asked(call.id), by) if text)
