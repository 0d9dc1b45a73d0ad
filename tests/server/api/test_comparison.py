"""Two runs side by side, and each request beside the one before it."""

from __future__ import annotations

from server.serving import ANN, BOB, TOKENS, adder, serving


def test_a_fork_beside_its_origin_and_the_requests_of_a_run():
    with serving(adder(), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.start("add")
        ann.wait(run)
        fork = ann.post(f"/api/runs/{run}/fork", {"at": 2}, 201)["run_id"]
        ann.wait(fork)
        seen = ann.get(f"/api/compare?first={run}&second={fork}")
        assert (seen["first"], seen["second"], seen["common"]) == (run, fork, 3)
        assert {pair["change"] for pair in seen["steps"]} == {"same"}
        requests = ann.get(f"/api/runs/{run}/prefixes")["requests"]
        assert [use["broke_at"] for use in requests] == [-1, -1]
        assert requests[1]["kept_messages"] == requests[0]["messages"]
        assert bob.ask("GET", f"/api/compare?first={run}&second={fork}").status == 404
        assert bob.ask("GET", f"/api/runs/{run}/prefixes").status == 404
        assert ann.ask("GET", f"/api/compare?first={run}").status == 400
