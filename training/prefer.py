"""python -m training.prefer MODEL.gguf OUT.gguf --begin ADAPTER.gguf --data CONVERSATIONS.jsonl.xz
                          [--rounds 2] [--sampling 120] [--seconds 120] [--seed 1]

Teaches an adapter to prefer what is right over what it does wrong itself. In each round it is asked at the places of
scripts, several times and not greedily; where it says something wrong, that and the right thing become a pair; it
learns that the right one is more probable, as far as it does not go away from what it was (direct preference
optimization, with the likelihood of the right one beside it). A second round asks what became of it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as functional

from training.network import Job, Network
from training.pairs import Pair, Place, pair, places
from training.train import LONGEST, TOLD_EVERY, rate_at, read_conversations, say
from training.weights import DEVICE
from treadle._types.profile import ADAPTER_FORMAT

RATE, BETA, LIKELIHOOD = 5e-5, 0.1, 0.5
"""`BETA`: how strongly it is held to what it was. `LIKELIHOOD`: the weight of the right reply's own likelihood."""
TRIES, TEMPERATURE, LONGEST_SAID = 4, 1.0, 120
AT_ONCE = 768
"""Replies that are written side by side."""


class Coded(NamedTuple):
    """A prompt with a reply, and where the reply begins."""

    ids: list[int]
    begins: int


class Judged(NamedTuple):
    right: Coded
    wrong: Coded
    before: tuple[float, float] = (0.0, 0.0)
    """How probable both were (logarithms) when the round began."""


def ask(network: Network, asked: list[Place], r: random.Random, until: float) -> list[Pair]:
    """Pairs of as many places as there is time for, in their order."""
    network.merge(True)
    network.switch(True)
    network.model.eval()
    found: list[Pair] = []
    done = 0
    group = AT_ONCE // TRIES * 8
    for start in range(0, len(asked), group):
        # Of about the same length side by side: a batch takes as long as its longest.
        for part in _parts(sorted(asked[start : start + group], key=lambda place: len(place.prompt)), AT_ONCE // TRIES):
            if time.time() > until:
                break
            jobs = [Job(place.prompt) for place in part for _ in range(TRIES)]
            said = [written.text for written in network.generate_in_parts(jobs, LONGEST_SAID, TEMPERATURE)]
            for index, place in enumerate(part):
                made = pair(r, place, said[index * TRIES : (index + 1) * TRIES])
                if made is not None:
                    found.append(made)
            done += len(part)
            say("asked at", done, "places,", len(found), "pairs so far")
    network.merge(False)
    say("asked at", done, "places,", len(found), "pairs", dict(Counter(one.kind for one in found).most_common(12)))
    return found


def _parts(things: list[Place], size: int) -> list[list[Place]]:
    return [things[start : start + size] for start in range(0, len(things), size)]


def coded(network: Network, pairs: list[Pair]) -> list[Judged]:
    """Those that are not too long."""

    def one(prompt: list[int], reply: str) -> Coded:
        return Coded([*prompt, *network.encode(f"{reply}<|im_end|>")], len(prompt))

    made = [
        Judged(one(prompt, each.right), one(prompt, each.wrong))
        for each in pairs
        for prompt in [network.encode(each.prompt)]
    ]
    return [each for each in made if max(len(each.right.ids), len(each.wrong.ids)) <= LONGEST]


def probable(network: Network, replies: list[Coded]) -> torch.Tensor:
    """How probable each reply is after its prompt: the sum of the logarithms."""
    width = max(len(reply.ids) for reply in replies)
    x = torch.full((len(replies), width), network.end)
    learnt = torch.zeros((len(replies), width), dtype=torch.bool)
    for row, reply in enumerate(replies):
        x[row, : len(reply.ids)] = torch.tensor(reply.ids)
        learnt[row, reply.begins : len(reply.ids)] = True
    x, wanted = x.to(DEVICE), learnt[:, 1:].to(DEVICE)
    hidden = network.model.model(input_ids=x, use_cache=False).last_hidden_state[:, :-1]
    logits = network.model.lm_head(hidden[wanted]).float()
    each = -functional.cross_entropy(logits, x[:, 1:][wanted], reduction="none")
    rows = wanted.nonzero()[:, 0]
    return torch.zeros(len(replies), device=DEVICE).index_add(0, rows, each)


def batches(judged: list[Judged], r: random.Random, size: int) -> list[list[Judged]]:
    """Of about equal length inside, so many tokens each, in random order."""
    made: list[list[Judged]] = []
    batch: list[Judged] = []
    for each in sorted(judged, key=lambda one: len(one.right.ids)):
        width = max(len(one.wrong.ids) for one in [*batch, each])
        width = max(width, len(each.right.ids))
        if batch and width * 2 * (len(batch) + 1) > size:
            made.append(batch)
            batch = []
        batch.append(each)
    made += [batch] if batch else []
    r.shuffle(made)
    return made


@torch.no_grad()
def measured(network: Network, judged: list[Judged], size: int) -> list[Judged]:
    """With how probable both replies are now."""
    made: list[Judged] = []
    for batch in batches(judged, random.Random(0), size):
        now = probable(network, [each.right for each in batch] + [each.wrong for each in batch]).tolist()
        made += [
            each._replace(before=(right, wrong))
            for each, right, wrong in zip(batch, now[: len(batch)], now[len(batch) :], strict=True)
        ]
    return made


def learn(network: Network, batch: list[Judged]) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of one batch; its loss, and the part of the pairs that are told apart better than before."""
    now = probable(network, [each.right for each in batch] + [each.wrong for each in batch])
    right, wrong = now[: len(batch)], now[len(batch) :]
    before = torch.tensor([each.before for each in batch], device=DEVICE)
    gained = (right - before[:, 0]) - (wrong - before[:, 1])
    length = torch.tensor([len(each.right.ids) - each.right.begins for each in batch], device=DEVICE)
    loss = -functional.logsigmoid(BETA * gained).mean() - LIKELIHOOD * (right / length).mean()
    loss.backward()
    return loss.detach(), (gained.detach() > 0).float().mean()


def train(network: Network, judged: list[Judged], seconds: float, r: random.Random, size: int) -> None:
    optimizer = torch.optim.AdamW(network.parameters, lr=RATE, weight_decay=0.0, betas=(0.9, 0.99))
    network.model.train()
    plan = batches(judged, r, size) + batches(judged, r, size)
    begun = time.time()
    told: list[torch.Tensor] = []
    for step, batch in enumerate(plan):
        done = max((step + 1) / len(plan), (time.time() - begun) / seconds)
        if done > 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(done, RATE)
        try:
            told.append(torch.stack(learn(network, batch)))
        except torch.OutOfMemoryError:
            say("no memory for a batch of", len(batch), "pairs: left out")
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            continue
        torch.nn.utils.clip_grad_norm_(network.parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % TOLD_EVERY == 0:
            loss, better = torch.stack(told[-TOLD_EVERY:]).mean(0).tolist()
            say("step", step + 1, "of", len(plan), "loss", round(loss, 4), "told apart", f"{better:.0%}", f"{done:.0%}")
    network.model.eval()
    say("learnt from", len(judged), "pairs in", round(time.time() - begun), "s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--begin", type=Path, required=True, help="the adapter that is asked and taught")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="conversations, best of another seed than it was trained on",
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sampling", type=float, default=120, help="seconds of asking in each round")
    parser.add_argument("--seconds", type=float, default=120, help="of learning in each round")
    parser.add_argument("--batch", type=int, default=16384, help="tokens of a step")
    parser.add_argument("--most", type=int, default=0, help="places to ask at, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    r = random.Random(options.seed)
    network = Network(options.model)
    network.restore(options.begin)
    asked = places(read_conversations(options.data))
    r.shuffle(asked)
    asked = asked[: options.most or None]
    for each in range(options.rounds):
        # Other places in each round.
        begin = len(asked) * each // options.rounds
        pairs = ask(network, asked[begin:] + asked[:begin], r, time.time() + options.sampling)
        if not pairs:
            say("nothing wrong was said")
            break
        network.switch(True)
        judged = measured(network, coded(network, pairs), options.batch)
        train(network, judged, options.seconds, r, options.batch)
        say("round", each + 1, "of", options.rounds, "done")
    notes = {"seed": str(options.seed), "dialect": "compact", "format": ADAPTER_FORMAT}
    network.save(options.out, options.out.stem, notes)
    say("saved", options.out)


if __name__ == "__main__":
    main()
