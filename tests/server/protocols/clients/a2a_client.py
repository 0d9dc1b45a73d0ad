"""The A2A SDK: the card, a message, a stream, a task by its id, a task that waits."""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState

address, token = sys.argv[1:]


def message(text, **more):
    said = Message(message_id="m1", role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    return SendMessageRequest(message=said)


async def main():
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:

        async def connect(agent, streaming):
            card = await A2ACardResolver(http, f"{address}/a2a/{agent}").get_agent_card()
            return card, ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)

        card, client = await connect("looker", True)
        text, state, task = "", "", ""
        async for event in client.send_message(message("2+3?")):
            kind = event.WhichOneof("payload")
            if kind == "task":
                task = event.task.id
            elif kind == "artifact_update":
                text += event.artifact_update.artifact.parts[0].text
            elif kind == "status_update":
                state = TaskState.Name(event.status_update.status.state)
        again = await client.get_task(GetTaskRequest(id=task))
        _, waiter = await connect("waiting", False)
        waiting = [event.task async for event in waiter.send_message(message("?"))][-1]
        answer = message("a cat", task_id=waiting.id, context_id=waiting.context_id)
        answered = [event.task async for event in waiter.send_message(answer)][-1]
    print(
        json.dumps(
            {
                "card": card.name,
                "text": text,
                "state": state,
                "again": again.artifacts[0].parts[0].text,
                "waiting": TaskState.Name(waiting.status.state),
                "answered": answered.artifacts[0].parts[0].text,
            }
        )
    )


asyncio.run(main())
