"""Agents in the background: two look things up while the first one goes on, and it is told when each has ended."""

from treadle import Agent, ScriptedModel
from treadle.plugins import BackgroundAgents

weather = Agent(ScriptedModel(["Rain until noon, then sun."]), tools=None, name="weather")
trains = Agent(ScriptedModel(["The 12:30 is on time."]), tools=None, name="trains")


def travel(request):
    """In place of a model: it starts both, and answers when it was told of both."""
    told = [message.content for message in request.messages if "has ended" in str(getattr(message, "content", ""))]
    if len(request.messages) == 1:
        return [
            {"name": "start_weather", "args": {"task": "Weather in Ulm today?"}},
            {"name": "start_trains", "args": {"task": "Is the 12:30 to Ulm on time?"}},
        ]
    return "\n".join(text.partition("\n")[2] for text in told) or "One moment."


agent = Agent(ScriptedModel(travel), plugins=[BackgroundAgents(weather, trains)])
result = agent.run_sync("Shall I take the 12:30 to Ulm?")
print(result)
assert "Rain until noon" in result.answer
assert "on time" in result.answer
