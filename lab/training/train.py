"""python -m training.train MODEL.gguf OUT [--seeds 1,2,3] [--data CONVERSATIONS.jsonl.xz | --bfcl DATA] [--seconds 300]
                         [--lessons MISTAKES.jsonl.xz] [--begin ADAPTER.gguf]

Trains an adapter for each seed and writes it as a GGUF file. What was interrupted goes on where it was when the same
command is given again; seeds whose adapter is there are done. With `--begin` the seeds branch off from an adapter that
was trained before. `{seed}` in the name of the data is the seed: so each learns from other words and names. What an
adapter is after each quarter of its training stays in `OUT/on_the_way`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as functional

from training.build import conversations
from training.network import Network
from training.recipe import Recipe, recipe_of
from training.render import Conversation
from training.sequences import TOKENS_A_BATCH, Tokens, batches, foretell, of_run, read_conversations, sequences
from training.weights import DEVICE
from treadle._local.dialects.compact import ADAPTER_FORMAT

EPOCHS = 2.0
"""An upper bound: mostly the seconds end a training."""
BEGINNING = 1
"""All seeds begin with the same untrained adapter: so their mean is near to each of them."""
WARM_UP = 0.04
"""Part of the training in which the rate rises."""
TOLD_EVERY = 50
BEGUN = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f}]", *words, flush=True)


class Limits(NamedTuple):
    seconds: float
    steps: int = 0
    """0: all epochs."""
    batch: int = TOKENS_A_BATCH
    """Tokens of a step."""
    save_every: float = 30.0
    """Seconds between two stored states."""


class Progress(NamedTuple):
    """What is kept on the way, so that a training that was interrupted goes on."""

    step: int
    spent: float
    """Seconds of the runs before."""


def _stored(path: Path, network: Network, optimizer: torch.optim.Optimizer) -> Progress:
    if not path.is_file():
        return Progress(0, 0.0)
    state = torch.load(path, map_location=DEVICE, weights_only=True)
    with torch.no_grad():
        for parameter, value in zip(network.parameters, state["parameters"], strict=True):
            parameter.copy_(value)
    optimizer.load_state_dict(state["optimizer"])
    say("goes on at step", state["step"])
    return Progress(state["step"], state["spent"])


def _store(path: Path, network: Network, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    part = path.with_name(f"{path.name}.part")
    parameters = [parameter.detach() for parameter in network.parameters]
    torch.save({"parameters": parameters, "optimizer": optimizer.state_dict(), **progress._asdict()}, part)
    part.replace(path)


def rate_at(done: float, rate: float) -> float:
    """The learning rate when that part of the training is done: up for a while, then down like a cosine."""
    return rate * min(1.0, done / WARM_UP) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(done, 1.0))))


def faster(network: Network) -> None:
    """Compiles a layer once, for all layers and all sizes. What the compiler does not understand runs as it is."""
    if DEVICE == "cpu":
        return
    torch._dynamo.config.suppress_errors = True
    for layer in network.model.model.layers:
        layer.compile(dynamic=True)


def train(
    network: Network,
    data: list[Tokens],
    recipe: Recipe,
    limits: Limits,
    seed: int,
    kept: Path,
    begin: Path | None,
    after_quarter: Callable[[int], object] = lambda quarter: None,
) -> None:
    """Ends when the steps are done or the seconds are spent, whichever comes first: the rate falls by both."""
    r = random.Random(seed)
    if begin is None:
        network.reset(BEGINNING)
    else:
        network.restore(begin)
    network.merge(False)
    network.switch(True)
    for adapter in network.adapters.values():
        adapter.dropped = recipe.dropout
    plan = [batch for _ in range(math.ceil(EPOCHS)) for batch in batches(data, r, limits.batch)]
    total = limits.steps or int(len(plan) * EPOCHS / math.ceil(EPOCHS))
    optimizer = torch.optim.AdamW(
        network.parameters, lr=recipe.rate, weight_decay=recipe.decay, betas=(0.9, 0.99), fused=True
    )
    begun_at = _stored(kept, network, optimizer)
    step, begun, saved, losses, tokens = begun_at.step, time.time(), time.time(), [], 0
    told = 0
    network.model.train()
    say("seed", seed, "steps", total, "of", len(plan), "at most", round(limits.seconds), "s")
    while True:
        spent = begun_at.spent + time.time() - begun
        done = max((step + 1) / total, spent / limits.seconds)
        if step >= total or spent >= limits.seconds:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(done, recipe.rate)
        loss, size = learn(network, plan[step % len(plan)], recipe.free)
        torch.nn.utils.clip_grad_norm_(network.parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss)
        tokens += size
        step += 1
        if step % TOLD_EVERY == 0 or step == total:
            mean, speed = float(torch.stack(losses[-TOLD_EVERY:]).mean()), int(tokens / (time.time() - begun))
            say("seed", seed, "step", step, "loss", round(mean, 4), "tokens/s", speed, f"{done:.0%}")
        if (quarter := int(done * 4)) > told and quarter < 4:
            told = quarter
            after_quarter(quarter)
        if time.time() - saved > limits.save_every:
            _store(kept, network, optimizer, Progress(step, begun_at.spent + time.time() - begun))
            saved = time.time()
    network.model.eval()
    say("seed", seed, "trained in", round(begun_at.spent + time.time() - begun), "s,", step, "steps")


def learn(network: Network, batch: list[Tokens], free: float = 1.0) -> tuple[torch.Tensor, int]:
    """The gradients of one batch; its loss and its size. `free`: how much words that tell nothing count."""
    foretold = foretell(network, batch)
    counts = torch.where(foretold.free, free, 1.0)
    lost = functional.cross_entropy(foretold.logits, foretold.wanted, reduction="none")
    loss = (lost * counts).sum() / counts.sum()
    loss.backward()
    return loss.detach(), foretold.size


async def gather(scale: float, seed: int, data: Path | None) -> list[Conversation]:
    return [conversation async for conversation in conversations(scale, seed, data)]


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="for each seed, at most")
    parser.add_argument("--steps", type=int, default=0, help="for each seed; 0: as many as the epochs have")
    parser.add_argument("--batch", type=int, default=TOKENS_A_BATCH, help="tokens of a step: less needs less memory")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", help="conversations that training.build has written; may have {seed} in its name")
    parser.add_argument("--bfcl", type=Path)
    parser.add_argument("--lessons", type=Path, help="what training.mistakes has written; learnt twice, if it is there")
    parser.add_argument("--begin", type=Path, help="an adapter to begin with; without: from nothing")
    parser.add_argument("--runs", type=Path, help="pairs of your own runs: treadle runs export all --training -o FILE")
    parser.add_argument("--recipe", type=recipe_of, default=Recipe(), help="such as rate=2e-4,dropout=0.1")
    parser.add_argument("--name", default="adapter")
    return parser.parse_args(arguments)


def main() -> None:
    options = options_of()
    options.out.mkdir(parents=True, exist_ok=True)
    todo = [seed for seed in map(int, options.seeds.split(",")) if not finished(options, seed).is_file()]
    if not todo:
        say("all seeds are trained")
        return
    network = Network(options.model)
    faster(network)
    say("loaded", round(sum(p.numel() for p in network.parameters) / 1e6, 2), "million parameters to train on", DEVICE)
    way: Path = options.out / "on_the_way"
    way.mkdir(exist_ok=True)
    (options.out / "options.json").write_text(json.dumps(vars(options), default=str))
    for seed in todo:
        path = finished(options, seed)
        kept = path.with_suffix(".state")
        limits = Limits(options.seconds, options.steps, options.batch)
        data = data_of(network, options, seed)
        train(
            network, data, options.recipe, limits, seed, kept, options.begin,
            lambda quarter, seed=seed: save(network, way / f"{options.name}-{seed}-{quarter}.gguf", options.name, seed),
        )  # fmt: skip
        save(network, path, options.name, seed)
        kept.unlink(missing_ok=True)
        say("saved", path)


def data_of(network: Network, options: argparse.Namespace, seed: int) -> list[Tokens]:
    if options.data:
        rendered = read_conversations(Path(options.data.replace("{seed}", str(seed))))
    else:
        rendered = asyncio.run(gather(options.scale, seed, options.bfcl))
    if options.lessons and options.lessons.is_file():
        rendered += read_conversations(options.lessons) * 2
    if options.runs:
        rendered += [of_run(line) for line in options.runs.read_bytes().splitlines()]
    data = sequences(network, rendered)
    learnt = sum(int(sequence.learnt.sum()) for sequence in data)
    say(len(rendered), "conversations,", len(data), "sequences,", sum(map(len, data)), "tokens,", learnt, "learnt")
    return data


def save(network: Network, path: Path, name: str, seed: int) -> None:
    network.save(path, name, {"seed": str(seed), "dialect": "compact", "format": ADAPTER_FORMAT})


def finished(options: argparse.Namespace, seed: int) -> Path:
    """The adapter of a seed. One that is there is not trained again."""
    return options.out / f"{options.name}-{seed}.gguf"


if __name__ == "__main__":
    main()
