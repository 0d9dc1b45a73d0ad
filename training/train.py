"""python -m training.train MODEL.gguf OUT [--seconds 150] [--seeds 1] [--bfcl DATA] [--evaluate before,after]

Everything in one process on one accelerator: the conversations, the training, the evaluation, and the adapter as a
GGUF file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
import torch.nn.functional as functional

from training import bfcl, evaluate
from training.build import conversations
from training.network import DEVICE, Network
from training.render import Conversation, Turn, chat_text
from treadle._types.profile import ADAPTER_FORMAT, DecisionThresholds

RATE, TOKENS_A_BATCH, EPOCHS, LONGEST, WARM = 2e-4, 16384, 2.0, 3600, 20
BEGUN = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f}]", *words, flush=True)


class Tokens:
    """Token numbers and which of them are learnt."""

    def __init__(self, ids: list[int], learnt: list[bool]) -> None:
        self.ids, self.learnt = np.array(ids, np.int64), np.array(learnt, bool)

    def __len__(self) -> int:
        return len(self.ids)


def sequences(network: Network, conversation: Conversation) -> list[Tokens]:
    """Turns whose prompt continues the one before share a sequence; others begin a new one."""
    made: list[Tokens] = []
    text, ids, learnt = "", [], []

    def flush() -> None:
        if any(learnt) and len(ids) <= LONGEST:
            made.append(Tokens(ids, learnt))

    for turn in conversation.turns:
        if not text or not turn.prompt.startswith(text):
            flush()
            text, ids, learnt = "", [], []
        before = network.encode(turn.prompt[len(text) :])
        after = network.encode(turn.reply + "<|im_end|>")
        newline = network.encode("\n")
        ids = [*ids, *before, *after, *newline]
        learnt = [*learnt, *[False] * len(before), *[turn.trained] * len(after), *[False] * len(newline)]
        text = turn.prompt + turn.reply + "<|im_end|>\n"
    flush()
    return made


def batches(data: list[Tokens], r: random.Random) -> list[list[Tokens]]:
    """Of about equal length inside, of about equal size, in random order."""
    order = data[:]
    r.shuffle(order)
    made: list[list[Tokens]] = []
    for start in range(0, len(order), 1024):
        batch: list[Tokens] = []
        width = 0
        for sequence in sorted(order[start : start + 1024], key=len):
            if batch and max(width, len(sequence)) * (len(batch) + 1) > TOKENS_A_BATCH:
                made.append(batch)
                batch, width = [], 0
            batch.append(sequence)
            width = max(width, len(sequence))
        made.append(batch)
    r.shuffle(made)
    return made


def train(network: Network, data: list[Tokens], seconds: float, seed: int) -> None:
    r = random.Random(seed)
    network.reset(seed)
    plan = [batch for _ in range(math.ceil(EPOCHS)) for batch in batches(data, r)]
    plan = plan[: int(len(plan) * EPOCHS / math.ceil(EPOCHS))]
    optimizer = torch.optim.AdamW(network.parameters, lr=RATE, weight_decay=0.0, betas=(0.9, 0.99))
    network.model.train()
    begun, total, losses, tokens = time.time(), len(plan), [], 0
    warmed = begun
    step = 0
    while step < total:
        batch = plan[step]
        width = max(map(len, batch))
        x, y = torch.full((len(batch), width), network.end), torch.full((len(batch), width), -100)
        for row, sequence in enumerate(batch):
            ids = torch.from_numpy(sequence.ids)
            x[row, : len(ids)] = ids
            y[row, : len(ids)] = torch.where(torch.from_numpy(sequence.learnt), ids, torch.tensor(-100))
        x, y = x.to(DEVICE), y.to(DEVICE)
        warm = max(3, int(0.04 * total))
        rate = RATE * min(1, (step + 1) / warm) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / total)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        hidden = network.model.model(input_ids=x, use_cache=False).last_hidden_state[:, :-1]
        target = y[:, 1:]
        wanted = target != -100
        loss = functional.cross_entropy(network.model.lm_head(hidden[wanted]).float(), target[wanted])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        tokens += x.numel()
        step += 1
        if step == WARM:
            warmed = time.time()
        if step == 2 * WARM:  # the clock decides how far the schedule goes
            torch.cuda.synchronize()
            total = min(total, max(100, int(seconds / ((time.time() - warmed) / WARM))))
            say("steps", total, "of", len(plan))
        if step % 100 == 0 or step == total:
            say(
                "step",
                step,
                "loss",
                round(float(torch.stack(losses[-100:]).mean()), 4),
                "tokens/s",
                int(tokens / (time.time() - begun)),
            )
    network.model.eval()
    say("trained in", round(time.time() - begun), "s")


def of_run(line: bytes) -> Conversation:
    """A pair of `treadle runs export --training`."""
    pair = json.loads(line)
    return Conversation("run", [Turn(chat_text(pair["messages"]), pair["reply"], True)])


async def gather(scale: float, seed: int, data: Path | None) -> list[Conversation]:
    return [conversation async for conversation in conversations(scale, seed, data)]


BY_THE_MODEL = {f"{first}_{later}": DecisionThresholds(first, later) for first, later in ((0.55, 0.17), (0.4, 0.1))}
PLAIN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("direct", "direct", {}),
    *((f"direct_{name}", "direct", {"decide": decide}) for name, decide in BY_THE_MODEL.items()),
    ("direct_guards", "direct", {"parameters": 1.0}),
    *((f"direct_guards_{name}", "direct", {"decide": d, "parameters": 1.0}) for name, d in BY_THE_MODEL.items()),
    ("schema", "schema", {}),
    *(
        (f"schema_{name}", "schema", {"decide": msgspec.structs.replace(d, dialect="schema")})
        for name, d in BY_THE_MODEL.items()
    ),
)
"""What can be done for a base model: dialect, guards (for models known to be small), its own probabilities."""


def evaluate_base(network: Network, out: Path, rows: list[bfcl.Row]) -> None:
    network.switch(False)
    evaluate.report("plain_known", evaluate.known(network, tools_too=False), out)
    for tag, dialect, facts in PLAIN:
        evaluate.report(f"{tag}_own", asyncio.run(evaluate.own_sets(network, dialect, **facts)), out)
        evaluate.report(f"{tag}_bfcl_dev", asyncio.run(evaluate.leaderboard(network, rows, dialect, **facts)), out)
        say("evaluated", tag)
    network.switch(True)


def evaluate_all(network: Network, tag: str, out: Path, rows: list[bfcl.Row]) -> None:
    facts = {"adapter": tag}
    evaluate.report(f"{tag}_own", asyncio.run(evaluate.own_sets(network, **facts)), out)
    evaluate.report(f"{tag}_bfcl_dev", asyncio.run(evaluate.leaderboard(network, rows, **facts)), out)
    evaluate.report(f"{tag}_known", evaluate.known(network, tools_too=True), out)
    say("evaluated", tag)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path, help="conversations that training.build has written")
    parser.add_argument("--adapter", type=Path, help="evaluate this adapter, train none")
    parser.add_argument("--bfcl", type=Path)
    parser.add_argument("--runs", type=Path, help="pairs of your own runs: treadle runs export all --training -o FILE")
    parser.add_argument("--name", default="adapter")
    parser.add_argument("--evaluate", default="before,after")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    network = Network(options.model)
    say("loaded", sum(p.numel() for p in network.parameters) / 1e6, "million parameters to train")
    rows = bfcl.development(options.bfcl) if options.bfcl else []
    if "before" in options.evaluate:
        evaluate_base(network, options.out, rows)
        if "after" not in options.evaluate:
            return
    if options.adapter:
        network.restore(options.adapter)
        evaluate_all(network, options.adapter.stem, options.out, rows)
        return
    if options.data:
        rendered = [msgspec.json.decode(line, type=Conversation) for line in options.data.read_bytes().splitlines()]
    else:
        rendered = asyncio.run(gather(options.scale, 1, options.bfcl))
    if options.runs:
        rendered += [of_run(line) for line in options.runs.read_bytes().splitlines()]
    data = [sequence for conversation in rendered for sequence in sequences(network, conversation)]
    say(
        "conversations",
        len(rendered),
        "sequences",
        len(data),
        "tokens",
        sum(map(len, data)),
        "learnt",
        sum(int(s.learnt.sum()) for s in data),
    )
    for seed in map(int, options.seeds.split(",")):
        train(network, data, options.seconds, seed)
        network.save(
            options.out / f"{options.name}-{seed}.gguf",
            options.name,
            {"seed": str(seed), "dialect": "compact", "format": ADAPTER_FORMAT},
        )
        if "after" in options.evaluate:
            evaluate_all(network, f"after{seed}", options.out, rows)
        if "test" in options.evaluate and options.bfcl:
            evaluate.report(
                f"after{seed}_bfcl_test",
                asyncio.run(evaluate.leaderboard(network, bfcl.sample(options.bfcl, False, 34))),
                options.out,
            )
    (options.out / "options.json").write_text(json.dumps(vars(options), default=str))


if __name__ == "__main__":
    main()
