"""Personal data: the model sees placeholders; the user, and the one tool that is named, get the data."""

import re

from treadle import Agent, ScriptedModel
from treadle.plugins import PersonalData

sent = []


def find_customer(name: str) -> str:
    """Find a customer."""
    return f"{name}: anna.weber@example.org, +49 171 2345678, IBAN DE89 3704 0044 0532 0130 00"


def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    sent.append((to, text))
    return f"sent to {to}"


def model(request):
    """In place of a model: it works with what it is shown."""
    shown = " ".join(str(message.content) for message in request.messages if message.role in ("user", "tool"))
    print("the model sees:", shown)
    found = {kind: place for place, kind in re.findall(r"(\[([A-Z]+)_[a-z]+\])", shown)}
    match sum(message.role == "tool" for message in request.messages):
        case 0:
            return {"name": "find_customer", "args": {"name": found["NAME"]}}
        case 1:
            return {"name": "send_mail", "args": {"to": found["EMAIL"], "text": f"Dear {found['NAME']}, ..."}}
    return f"I wrote to {found['NAME']} at {found['EMAIL']}."


guard = PersonalData(names=["Anna Weber"], tools=["send_mail"])
agent = Agent(ScriptedModel(model), tools=[find_customer, send_mail], plugins=[guard])
result = agent.run_sync("Write to our customer Anna Weber.")
print("the user reads:", result.answer)
print(result.metadata["reports"]["personal_data"])
assert result.answer == "I wrote to Anna Weber at anna.weber@example.org."
assert sent == [("anna.weber@example.org", "Dear Anna Weber, ...")]
assert "Weber" not in str(result.messages)
