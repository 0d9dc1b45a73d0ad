"""What is learnt as a network reads it: conversations as rows of tokens, batches of them, and what it foretells."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch

from training.network import Network
from training.render import Conversation, Turn, chat_text, spaced
from training.telling import free_letters
from training.weights import DEVICE

TOKENS_A_BATCH, LONGEST = 16384, 3600


class Tokens:
    """Token numbers, which of them are learnt, and which of these are words that tell nothing."""

    def __init__(self, ids: list[int], learnt: list[bool], free: list[bool]) -> None:
        self.ids, self.learnt, self.free = np.array(ids, np.int64), np.array(learnt, bool), np.array(free, bool)

    def __len__(self) -> int:
        return len(self.ids)


class Piece(NamedTuple):
    text: str
    learnt: bool
    free: Sequence[tuple[int, int]] = ()
    """Where it tells nothing: places of letters."""


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
            Piece(turn.reply + "<|im_end|>", turn.trained, free_letters(turn.prompt, turn.reply)),
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
        free: list[bool] = []
        for piece in sequence:
            own = next(encoded)
            ids += own.ids
            learnt += [piece.learnt] * len(own.ids)
            free += [any(first <= start and end <= last for first, last in piece.free) for start, end in own.offsets]
        if any(learnt) and len(ids) <= LONGEST:
            made.append(Tokens(ids, learnt, free))
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


def of_run(line: bytes) -> Conversation:
    """A pair of `treadle runs export --training`."""
    pair = json.loads(line)
    return Conversation("run", [Turn(chat_text(pair["messages"]), spaced(pair["reply"]), True)])


def read_conversations(path: Path) -> list[Conversation]:
    """What `training.build` has written, compressed or not."""
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return [msgspec.json.decode(line, type=Conversation) for line in content.splitlines()]


class Foretold(NamedTuple):
    """What a model says of the learnt tokens of a batch, all of them in one row."""

    logits: torch.Tensor
    wanted: torch.Tensor
    free: torch.Tensor
    """Which of them tell nothing."""
    size: int
    """Tokens that were read for it."""


def foretell(network: Network, batch: list[Tokens]) -> Foretold:
    width = max(map(len, batch))
    x, y = torch.full((len(batch), width), network.end), torch.full((len(batch), width), -100)
    free = torch.zeros(len(batch), width, dtype=torch.bool)
    for row, sequence in enumerate(batch):
        ids = torch.from_numpy(sequence.ids)
        x[row, : len(ids)] = ids
        y[row, : len(ids)] = torch.where(torch.from_numpy(sequence.learnt), ids, torch.tensor(-100))
        free[row, : len(ids)] = torch.from_numpy(sequence.free)
    x, y, free = x.to(DEVICE), y.to(DEVICE), free.to(DEVICE)
    hidden = network.model.model(input_ids=x, use_cache=False).last_hidden_state[:, :-1]
    target = y[:, 1:]
    wanted = target != -100
    return Foretold(network.model.lm_head(hidden[wanted]).float(), target[wanted], free[:, 1:][wanted], x.numel())
