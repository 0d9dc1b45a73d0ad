# /// script
# dependencies = ["a2a-sdk==1.3.0", "httpx"]
# ///
# pyright: basic, reportMissingImports=false
"""The A2A SDK: an agent asks ours. It has no tools of its own and no typed output; it leaves by a request."""

from __future__ import annotations

import base64

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import CancelTaskRequest, Message, Part, Role, SendMessageRequest
from cells import *


def message(text, *parts):
    said = Message(message_id=text, role=Role.ROLE_USER, parts=[Part(text=text), *parts])
    return SendMessageRequest(message=said)


async def events(asked, streaming, each=None):
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http:
        card = await A2ACardResolver(http, f"{ADDRESS}/a2a/worker").get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
        found = []
        async for event in client.send_message(asked):
            found.append(event)
            if each is not None:
                await each(client, event)
        return found


async def said(asked):
    task = (await events(asked, False))[-1].task
    return "".join(part.text for one in task.artifacts for part in one.parts) or str(task.status)


async def answer():
    same(await said(message(ASK)), FIVE)


async def stream():
    pieces = [event.artifact_update for event in await events(message(ASK), True) if event.HasField("artifact_update")]
    same("".join(part.text for piece in pieces for part in piece.artifact.parts), FIVE)


async def image():
    same(await said(message(SEE, Part(raw=base64.b64decode(PICTURE), media_type="image/png"))), SEEN)


async def error():
    refused(Exception(await said(message(BROKEN))))


async def abort():
    async def cancel(client, event):
        if event.HasField("artifact_update"):
            await client.cancel_task(CancelTaskRequest(id=event.artifact_update.task_id))

    await events(message(SLOW), True, cancel)


cells("A2A", ["a2a-sdk"], answer, stream, image, error, abort)
