"""A bot for a chat like Slack: a conversation for each thread; what is said while the bot works goes to its run.

`Channel` stands for the client library of your chat: something that gives messages and takes replies.
"""

import asyncio

from treadle import Agent, Conversation, Run, RunEndedError, ScriptedModel, tool


class Channel:
    """Messages as (thread, user, text); what the bot posts is kept."""

    def __init__(self, messages: list[tuple[str, str, str]]) -> None:
        self.messages, self.posted = messages, []

    async def __aiter__(self):
        for message in self.messages:
            yield message
            await asyncio.sleep(0.02)

    async def post(self, thread: str, text: str) -> None:
        self.posted.append((thread, text))


@tool(effect="pure")
async def on_call(team: str) -> str:
    """Who is on call."""
    await asyncio.sleep(0.2)
    return "ann"


async def bot(channel: Channel, agent: Agent) -> None:
    working: dict[str, Run] = {}
    posting: list[asyncio.Task[None]] = []

    async def answer(thread: str, run: Run) -> None:
        result = await run
        await channel.post(thread, result.answer if result.success else f"Sorry: {result.stop_reason}")

    async for thread, user, text in channel:
        try:
            working[thread].send(text)  # read between two steps
        except (KeyError, RunEndedError):
            run = working[thread] = await Conversation(agent, thread, user=user).start(text)
            posting.append(asyncio.create_task(answer(thread, run)))
    await asyncio.gather(*posting)


async def main() -> None:
    script = [{"name": "on_call", "args": {"team": "web"}}, "Ann is on call for web; I would page her."]
    channel = Channel([("t1", "bob", "Who is on call for web?"), ("t1", "bob", "and should I page them?")])
    # With a file or Postgres as the journal, threads go on after a restart.
    async with Agent(ScriptedModel(script), tools=[on_call], journal="memory:", system="You are a bot.") as agent:
        await bot(channel, agent)
    print(channel.posted)
    assert channel.posted == [("t1", "Ann is on call for web; I would page her.")]


asyncio.run(main())
