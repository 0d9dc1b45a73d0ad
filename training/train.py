"""python -m training.train MODEL.gguf OUT [--seeds 1,2,3] [--data CONVERSATIONS.jsonl.xz | --bfcl DATA] [--seconds 300]
                         [--lessons MISTAKES.jsonl.xz] [--begin ADAPTER.gguf]

Trains an adapter for each seed and writes it as a GGUF file. What was interrupted goes on where it was when the same
command is given again; seeds whose adapter is there are done. With `--begin` the seeds branch off from an adapter that
was trained before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import math
import random
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch
import torch.nn.functional as functional

from training.build import conversations
from training.network import Network
from training.recipe import Recipe, recipe_of
from training.render import Conversation, Turn, chat_text, spaced
from training.weights import DEVICE
from treadle._types.profile import ADAPTER_FORMAT

TOKENS_A_BATCH, EPOCHS, LONGEST = 16384, 2.0, 3600
"""The epochs are an upper bound: mostly the seconds end a training."""
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


class Tokens:
    """Token numbers and which of them are learnt."""

    def __init__(self, ids: list[int], learnt: list[bool]) -> None:
        self.ids, self.learnt = np.array(ids, np.int64), np.array(learnt, bool)

    def __len__(self) -> int:
        return len(self.ids)


class Piece(NamedTuple):
    text: str
    learnt: bool


def pieces(conversation: Conversation) -> list[list[Piece]]:
    """Turns whose prompt continues the one before share a sequence; others begin a new one."""
    made: list[list[Piece]] = []
    text = ""
    for turn in conversation.turns:
        if not text or not turn.prompt.startswith(text):
            text = ""
            made.append([])
        made[-1] += [
            Piece(turn.prompt[len(text) :], False),
            Piece(turn.reply + "<|im_end|>", turn.trained),
            Piece("\n", False),
        ]
        text = turn.prompt + turn.reply + "<|im_end|>\n"
    return made


def sequences(network: Network, rendered: list[Conversation]) -> list[Tokens]:
    """All in one go: the tokenizer works on all cores."""
    wanted = [sequence for conversation in rendered for sequence in pieces(conversation)]
    texts = [piece.text for sequence in wanted for piece in sequence]
    encoded = iter(network.tokenizer.encode_batch(texts, add_special_tokens=False))
    made: list[Tokens] = []
    for sequence in wanted:
        ids: list[int] = []
        learnt: list[bool] = []
        for piece in sequence:
            own = next(encoded).ids
            ids += own
            learnt += [piece.learnt] * len(own)
        if any(learnt) and len(ids) <= LONGEST:
            made.append(Tokens(ids, learnt))
    return made


def batches(data: list[Tokens], r: random.Random, size: int) -> list[list[Tokens]]:
    """Of about equal length inside, of about equal size, in random order."""
    order = data[:]
    r.shuffle(order)
    made: list[list[Tokens]] = []
    for start in range(0, len(order), 1024):
        batch: list[Tokens] = []
        width = 0
        for sequence in sorted(order[start : start + 1024], key=len):
            if batch and max(width, len(sequence)) * (len(batch) + 1) > size:
                made.append(batch)
                batch, width = [], 0
            batch.append(sequence)
            width = max(width, len(sequence))
        made.append(batch)
    r.shuffle(made)
    return made


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
    network: Network, data: list[Tokens], recipe: Recipe, limits: Limits, seed: int, kept: Path, begin: Path | None
) -> None:
    """Ends when the steps are done or the seconds are spent, whichever comes first: the rate falls by both."""
    r = random.Random(seed)
    if begin is None:
        network.reset(seed)
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
    network.model.train()
    say("seed", seed, "steps", total, "of", len(plan), "at most", round(limits.seconds), "s")
    while True:
        spent = begun_at.spent + time.time() - begun
        done = max((step + 1) / total, spent / limits.seconds)
        if step >= total or spent >= limits.seconds:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(done, recipe.rate)
        loss, size = learn(network, plan[step % len(plan)])
        torch.nn.utils.clip_grad_norm_(network.parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss)
        tokens += size
        step += 1
        if step % TOLD_EVERY == 0 or step == total:
            mean, speed = float(torch.stack(losses[-TOLD_EVERY:]).mean()), int(tokens / (time.time() - begun))
            say("seed", seed, "step", step, "loss", round(mean, 4), "tokens/s", speed, f"{done:.0%}")
        if time.time() - saved > limits.save_every:
            _store(kept, network, optimizer, Progress(step, begun_at.spent + time.time() - begun))
            saved = time.time()
    network.model.eval()
    say("seed", seed, "trained in", round(begun_at.spent + time.time() - begun), "s,", step, "steps")


class Foretold(NamedTuple):
    """What a model says of the learnt tokens of a batch, all of them in one row."""

    logits: torch.Tensor
    wanted: torch.Tensor
    size: int
    """Tokens that were read for it."""


def foretell(network: Network, batch: list[Tokens]) -> Foretold:
    width = max(map(len, batch))
    x, y = torch.full((len(batch), width), network.end), torch.full((len(batch), width), -100)
    for row, sequence in enumerate(batch):
        ids = torch.from_numpy(sequence.ids)
        x[row, : len(ids)] = ids
        y[row, : len(ids)] = torch.where(torch.from_numpy(sequence.learnt), ids, torch.tensor(-100))
    x, y = x.to(DEVICE), y.to(DEVICE)
    hidden = network.model.model(input_ids=x, use_cache=False).last_hidden_state[:, :-1]
    target = y[:, 1:]
    wanted = target != -100
    return Foretold(network.model.lm_head(hidden[wanted]).float(), target[wanted], x.numel())


def learn(network: Network, batch: list[Tokens]) -> tuple[torch.Tensor, int]:
    """The gradients of one batch; its loss and its size."""
    foretold = foretell(network, batch)
    loss = functional.cross_entropy(foretold.logits, foretold.wanted)
    loss.backward()
    return loss.detach(), foretold.size


def of_run(line: bytes) -> Conversation:
    """A pair of `treadle runs export --training`."""
    pair = json.loads(line)
    return Conversation("run", [Turn(chat_text(pair["messages"]), spaced(pair["reply"]), True)])


def read_conversations(path: Path) -> list[Conversation]:
    """What `training.build` has written, compressed or not."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return [msgspec.json.decode(line, type=Conversation) for line in content.splitlines()]


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
    parser.add_argument("--data", type=Path, help="conversations that training.build has written")
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
    rendered = read_conversations(options.data) if options.data else asyncio.run(gather(options.scale, 1, options.bfcl))
    if options.lessons and options.lessons.is_file():
        rendered += read_conversations(options.lessons) * 2
    if options.runs:
        rendered += [of_run(line) for line in options.runs.read_bytes().splitlines()]
    data = sequences(network, rendered)
    learnt = sum(int(sequence.learnt.sum()) for sequence in data)
    say(len(rendered), "conversations,", len(data), "sequences,", sum(map(len, data)), "tokens,", learnt, "learnt")
    (options.out / "options.json").write_text(json.dumps(vars(options), default=str))
    for seed in todo:
        path = finished(options, seed)
        kept = path.with_suffix(".state")
        limits = Limits(options.seconds, options.steps, options.batch)
        train(network, data, options.recipe, limits, seed, kept, options.begin)
        save(network, path, options.name, seed)
        kept.unlink(missing_ok=True)
        say("saved", path)


def save(network: Network, path: Path, name: str, seed: int) -> None:
    network.save(path, name, {"seed": str(seed), "dialect": "compact", "format": ADAPTER_FORMAT})


def finished(options: argparse.Namespace, seed: int) -> Path:
    """The adapter of a seed. One that is there is not trained again."""
    return options.out / f"{options.name}-{seed}.gguf"


if __name__ == "__main__":
    main()
