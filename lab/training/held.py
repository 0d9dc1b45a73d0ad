"""python -m training.held MODEL.gguf HELD.jsonl.xz[,MORE] [ADAPTER.gguf ...] [--shares 0.8,1]

What adapters do in written worlds that nothing was learnt from (`training.build --held`). Each reply of a script is
read once, without decoding: a call is right when each of its tokens is the one that a greedy model would write there.
Words of an answer are free, so of these only the loss says something. It takes seconds, and has more places than all
task sets: this is what recipes of a training are compared by.
"""

from __future__ import annotations

import argparse
import random
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as functional

from training.mistakes import step_of
from training.network import Network
from training.render import Conversation
from training.scenario import Act
from training.sequences import TOKENS_A_BATCH, Tokens, batches, foretell, read_conversations, sequences
from treadle._inspect.evals.stats import wilson


class Held(NamedTuple):
    calls: int
    right: int
    loss_of_calls: float
    """Of a token, on average."""
    loss_of_words: float

    def __str__(self) -> str:
        low, high = wilson(self.right, self.calls)
        return (
            f"{self.right} of {self.calls} calls right ({low:.1%} to {high:.1%}), "
            f"loss {self.loss_of_calls:.3f}, of words {self.loss_of_words:.3f}"
        )


def replies(sequence: Tokens) -> list[list[int]]:
    """The tokens of each reply that is learnt, in order."""
    marked = zip(sequence.ids.tolist(), sequence.learnt.tolist(), strict=True)
    return [[token for token, _ in part] for learnt, part in groupby(marked, key=lambda one: one[1]) if learnt]


@torch.no_grad()
def measured(network: Network, held: list[Tokens], size: int = TOKENS_A_BATCH) -> Held:
    """With the adapter as it is now."""
    network.model.eval()
    calls = right = 0
    losses: dict[bool, list[float]] = {True: [], False: []}
    for batch in batches(held, random.Random(0), size):
        foretold = foretell(network, batch)
        lost = iter(functional.cross_entropy(foretold.logits, foretold.wanted, reduction="none").tolist())
        hit = iter((foretold.logits.argmax(-1) == foretold.wanted).tolist())
        for reply in (each for sequence in batch for each in replies(sequence)):
            text = network.tokenizer.decode(reply, skip_special_tokens=True)
            is_call = isinstance(step_of(text), Act)
            losses[is_call] += [next(lost) for _ in reply]
            greedy = [next(hit) for _ in reply]
            calls += is_call
            right += is_call and all(greedy)
    return Held(calls, right, _mean(losses[True]), _mean(losses[False]))


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def by_kind(conversations: list[Conversation]) -> dict[str, list[Conversation]]:
    kinds: dict[str, list[Conversation]] = {}
    for one in conversations:
        kinds.setdefault(one.kind, []).append(one)
    return dict(sorted(kinds.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("held", help="files, separated by commas; each is counted by itself")
    parser.add_argument("adapters", type=Path, nargs="*")
    parser.add_argument("--shares", default="1", help="how much of its change each adapter keeps, separated by commas")
    parser.add_argument("--most", type=int, default=0, help="conversations, at most")
    parser.add_argument("--kinds", action="store_true", help="count each kind of conversation by itself")
    options = parser.parse_args()
    network = Network(options.model)
    read = {path.name.partition(".")[0]: read_conversations(path) for path in map(Path, options.held.split(","))}
    if options.kinds:
        read = {f"{name} {kind}": of_kind for name, found in read.items() for kind, of_kind in by_kind(found).items()}
    held = {name: sequences(network, found[: options.most or None]) for name, found in read.items()}

    def told(title: str) -> None:
        for name, tokens in held.items():
            print(f"{name}, {title}:", measured(network, tokens), flush=True)

    network.switch(False)
    told("without an adapter")
    network.switch(True)
    for path in options.adapters:
        for share in map(float, options.shares.split(",")):
            network.restore(path, share)
            told(f"{path.stem}, {share:.0%} of it")


if __name__ == "__main__":
    main()
