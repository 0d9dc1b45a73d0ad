"""The A2A SDK: the card, a message, a stream, a task by its id, a task that waits, push notifications."""

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf.json_format import Parse

address, token = sys.argv[1:]


def message(text, **more):
    said = Message(message_id="m1", role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    return SendMessageRequest(message=said)


class Receiver(BaseHTTPRequestHandler):
    """Hears one notification."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        state = Parse(body, StreamResponse()).status_update.status.state
        self.server.told = [TaskState.Name(state), self.headers["x-a2a-notification-token"]]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


async def push(client, task):
    """What a receiver is told about a task that has ended, and the configs: made, read, deleted."""
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    address = f"http://127.0.0.1:{receiver.server_port}/"
    config = TaskPushNotificationConfig(task_id=task, id="one", url=address, token="t0ken")
    await client.create_task_push_notification_config(config)
    await asyncio.to_thread(receiver.handle_request)
    receiver.server_close()
    listed = ListTaskPushNotificationConfigsRequest(task_id=task)
    configs = [[one.id for one in (await client.list_task_push_notification_configs(listed)).configs]]
    one = GetTaskPushNotificationConfigRequest(task_id=task, id="one")
    configs.append((await client.get_task_push_notification_config(one)).token)
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task, id="one")
    await client.delete_task_push_notification_config(gone)
    configs.append(list((await client.list_task_push_notification_configs(listed)).configs))
    return {"told": receiver.told, "configs": configs}


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
        pushed = await push(client, task)
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
                **pushed,
            }
        )
    )


asyncio.run(main())
