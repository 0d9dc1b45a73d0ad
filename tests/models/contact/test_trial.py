"""The probe at first contact: a setting, once, and never in the way."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, go
from models.catalog.servers import EVERYTHING, Server
from models.contact.replayed import QUESTION, Kind, eight_kinds
from models.loopback import Answer, Loopback, Received
from treadle import Agent, OpenAIModel, resolve_model
from treadle._models.catalog import probed_profiles
from treadle._models.catalog.probed_profiles import load_probed_profile
from treadle._models.contact import trial
from treadle._models.contact.recognize import forget


def chats(server: Server) -> list[dict[str, Any]]:
    return [request.json for request in server.received if request.body]


def another_process() -> None:
    """What a process that starts now would know."""
    forget()
    probed_profiles.forget()


async def tried(loopback: Loopback, **options: Any) -> tuple[Any, trial.Trial | None]:
    model = OpenAIModel("small-model", base_url=f"{loopback.url}/v1", **options)
    return model, await trial.try_once(model)


def test_native_calls_that_work_are_found_with_three_requests_and_once():
    server = Server()

    async def main() -> None:
        async with Loopback(server) as loopback:
            model, found = await tried(loopback)
            assert found is not None
            assert str(found) == f"first contact with small-model at {loopback.url}/v1: native tool calls work"
            assert found.report.usage.requests == len(chats(server)) == 3
            assert (model.profile.dialect, model.profile.calls_natively) == ("native", True)
            another_process()
            again, nothing = await tried(loopback)
            assert nothing is None
            assert again.profile.dialect == "native"
            assert len(chats(server)) == 3

    go(main())


@pytest.mark.parametrize(
    ("can", "dialect"), [(EVERYTHING - {"tools", "forced"}, "schema"), (frozenset({"list", "usage"}), "json")]
)
def test_calls_that_come_as_text_are_not_asked_for_natively(can: frozenset[str], dialect: str):
    async def main() -> None:
        async with Loopback(Server(can)) as loopback:
            model, found = await tried(loopback)
            assert found is not None
            assert str(found).endswith(f"no native tool calls, so calls are text ({dialect})")
            assert model.profile.tool_call is False
            assert model.profile.dialect == dialect

    go(main())


def test_who_is_known_already_is_not_tried():
    small = eight_kinds()[0]

    async def main() -> None:
        async with Loopback(small) as loopback:
            model = resolve_model(f"{loopback.url}/v1")
            assert await trial.try_once(model) is None, "its size decides"
            assert small.chats == []
        server = Server()
        async with Loopback(server) as loopback:
            assert (await tried(loopback, abilities={"tool_call": True}))[1] is None, "the user has said so"
            assert (await tried(loopback, profile=model.profile))[1] is None
            assert await trial.try_once(OpenAIModel("gpt-4o", base_url=f"{loopback.url}/v1")) is None
            assert chats(server) == []

    go(main())


def test_a_server_that_cannot_be_tried_is_used_all_the_same_and_not_tried_again():
    kind = Kind("busy", [{"id": "m", "owned_by": "somebody"}])
    chats: list[Received] = []

    def refuses(request: Received) -> Answer:
        if request.path.endswith("/models"):
            return kind(request)
        chats.append(request)
        return Answer(401)

    async def main() -> None:
        async with Loopback(refuses) as loopback:
            for _ in range(2):
                model = resolve_model(f"{loopback.url}/v1")
                assert await trial.try_once(model) is None
                assert model.profile.tool_call
            assert len(chats) == 1
            assert load_probed_profile("openai", "m", f"{loopback.url}/v1") is None

    go(main())


def test_it_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trial, "SECONDS", 0.05)
    kind = eight_kinds()[6]

    def silent(request: Received) -> Answer:
        return kind(request) if request.path.endswith("/models") else Answer(fault="stall", before_headers=True)

    async def main() -> None:
        async with Loopback(silent) as loopback:
            assert await trial.try_once(resolve_model(f"{loopback.url}/v1")) is None

    go(main())


# ---- the setting


async def asked(kind: Kind, times: int = 1, **settings: Any) -> list[int]:
    """How many requests each of several runs took."""
    counts: list[int] = []
    async with Loopback(kind) as loopback:
        for _ in range(times):
            before = len(kind.chats)
            result = await Agent(f"{loopback.url}/v1", [add], retry={"attempts": 1}, **settings).run(QUESTION)
            assert "5" in result.answer
            counts.append(len(kind.chats) - before)
    return counts


def test_it_is_off_in_the_library_and_a_setting():
    assert go(asked(eight_kinds()[6])) == [2]
    with_trial = eight_kinds()[6]
    assert go(asked(with_trial, 2, probe=True)) == [2 + 3, 2]
    assert go(asked(eight_kinds()[6], probe=True, budget={"tokens": 100_000})) == [2], "no budget covers it"


def test_what_a_server_refused_costs_one_request_once():
    """The runs after the first begin in the dialect that works; with the setting also those of a later process."""
    for number in (2, 7):
        assert go(asked(eight_kinds()[number], 3)) == [3, 2, 2]

    async def later(**settings: Any) -> list[int]:
        kind = eight_kinds()[7]
        async with Loopback(kind) as loopback:
            for _ in range(2):
                model = OpenAIModel("my-finetune", base_url=f"{loopback.url}/v1")
                await Agent(model, [add], **settings).run(QUESTION)
                another_process()
        return ["tools" in body for body in kind.chats].count(True) * [1]

    assert go(later()) == [1, 1]
    assert go(later(probe=True)) == [1]


def test_a_refusal_of_one_tools_schema_is_not_held_against_the_others():
    kind = Kind("picky", [{"id": "m", "owned_by": "x"}], refusal=(400, "tools[0].function.parameters: no such type"))
    assert go(asked(kind, 2)) == [3, 3]


def test_a_refusal_is_forgotten_after_a_week(monkeypatch: pytest.MonkeyPatch):
    kind = eight_kinds()[7]
    assert go(asked(kind, 2, probe=False)) == [3, 2]
    monkeypatch.setattr(probed_profiles, "REFUSAL_DAYS", 0)
    assert go(asked(eight_kinds()[7], 2)) == [3, 3]
