"""python -m training.held MODEL.gguf HELD.jsonl.xz [ADAPTER.gguf ...]

What adapters do in written worlds that nothing was learnt from (`training.build --held`). Each reply of a script is
read once, without decoding: a call is right when each of its tokens is the one that a greedy model would write there.
Words of an answer are free, so of these only the loss says something. It takes seconds, and has more places than all
task sets: this is what recipes of a training are compared by.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as functional

from training.mistakes import step_of
from training.network import Network
from training.render import Conversation
from training.scenario import Act
from training.train import LONGEST, pieces, read_conversations
from training.weights import DEVICE
from treadle._evals.stats import wilson

BATCH = 32768
"""Tokens that are read at once."""


class Span(NamedTuple):
    """A reply inside a sequence."""

    begins: int
    ends: int
    is_call: bool


class Sequence(NamedTuple):
    ids: list[int]
    spans: list[Span]


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


def sequences(network: Network, rendered: list[Conversation]) -> list[Sequence]:
    """Those that are not too long."""
    made: list[Sequence] = []
    for sequence in (each for conversation in rendered for each in pieces(conversation)):
        ids: list[int] = []
        spans: list[Span] = []
        for piece in sequence:
            own = network.encode(piece.text)
            if piece.learnt:
                is_call = isinstance(step_of(piece.text.removesuffix("<|im_end|>")), Act)
                spans.append(Span(len(ids), len(ids) + len(own), is_call))
            ids += own
        if spans and len(ids) <= LONGEST:
            made.append(Sequence(ids, spans))
    return sorted(made, key=lambda one: len(one.ids))


@torch.no_grad()
def measured(network: Network, held: list[Sequence], size: int = BATCH) -> Held:
    """With the adapter as it is now."""
    network.model.eval()
    right = 0
    losses: dict[bool, list[float]] = defaultdict(list)
    calls = 0
    for batch in _batches(held, size):
        width = max(len(one.ids) for one in batch)
        x = torch.full((len(batch), width), network.end)
        for row, one in enumerate(batch):
            x[row, : len(one.ids)] = torch.tensor(one.ids)
        x = x.to(DEVICE)
        hidden = network.model.model(input_ids=x, use_cache=False).last_hidden_state
        for row, one in enumerate(batch):
            for span in one.spans:
                logits = network.model.lm_head(hidden[row, span.begins - 1 : span.ends - 1]).float()
                wanted = x[row, span.begins : span.ends]
                losses[span.is_call] += functional.cross_entropy(logits, wanted, reduction="none").tolist()
                calls += span.is_call
                right += span.is_call and bool((logits.argmax(-1) == wanted).all())
    return Held(calls, right, _mean(losses[True]), _mean(losses[False]))


def _batches(held: list[Sequence], size: int) -> list[list[Sequence]]:
    made: list[list[Sequence]] = []
    for one in held:
        if made and len(one.ids) * (len(made[-1]) + 1) <= size:
            made[-1].append(one)
        else:
            made.append([one])
    return made


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("held", type=Path)
    parser.add_argument("adapters", type=Path, nargs="*")
    parser.add_argument("--most", type=int, default=0, help="conversations, at most")
    options = parser.parse_args()
    network = Network(options.model)
    held = sequences(network, read_conversations(options.held)[: options.most or None])
    network.switch(False)
    print("without an adapter:", measured(network, held), flush=True)
    network.switch(True)
    for path in options.adapters:
        network.restore(path)
        print(f"{path.stem}:", measured(network, held), flush=True)


if __name__ == "__main__":
    main()
