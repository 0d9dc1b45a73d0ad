"""The base model on an accelerator: weights from a GGUF file, low-rank adapters, constrained decoding in batches."""

from __future__ import annotations

import concurrent.futures
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import llguidance
import llguidance.numpy as masks
import numpy as np
import torch
import torch.nn.functional as functional
from gguf.quants import dequantize
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
RANK, ALPHA = 16, 32
PROJECTIONS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
DECIDED_BY = 12
"""Tokens of a reply that can stand before its decision."""
NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "model.norm.weight",
}
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def tokenizer_of(reader: gguf.GGUFReader) -> Tokenizer:
    """The tokenizer that the file describes (byte-level pairs with Qwen's way of splitting)."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(line.split(" ")) for line in reader.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    split = pre_tokenizers.Split(Regex(QWEN_SPLIT), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == 3
        ]
    )
    return tokenizer


class Adapter(nn.Module):
    """A projection with a low-rank addition that can be switched off."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(RANK, base.in_features, device=DEVICE) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, RANK, device=DEVICE))
        self.on = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        plain = self.base(x)
        if not self.on:
            return plain
        return plain + functional.linear(functional.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype)) * (ALPHA / RANK)


class Job(NamedTuple):
    prompt: str
    grammar: str | None = None
    decision_after: str = ""
    """Beginning of the reply after which the model decides; what it wants there is read before the grammar."""


class Written(NamedTuple):
    text: str
    complete: bool
    options: dict[str, float]
    """What could have followed `decision_after`, with its probability."""


class Network:
    def __init__(self, path: Path) -> None:
        self.reader = gguf.GGUFReader(str(path))
        self.tokenizer = tokenizer_of(self.reader)
        self.end = self.tokenizer.token_to_id("<|im_end|>")
        self.model = _load(self.reader)
        self.vocabulary = int(self.model.config.vocab_size)
        self.adapters: dict[str, Adapter] = {}
        for index, layer in enumerate(self.model.model.layers):
            for short, long in PROJECTIONS.items():
                parent, name = long.split(".")
                module = getattr(layer, parent)
                adapter = Adapter(getattr(module, name))
                setattr(module, name, adapter)
                self.adapters[f"blk.{index}.{short}"] = adapter
        self._guide = llguidance.LLTokenizer(self.tokenizer.to_str(), n_vocab=self.vocabulary, eos_token=self.end)
        self._executor = llguidance.LLExecutor()
        self._bits = torch.arange(32, device=DEVICE, dtype=torch.int32)

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [parameter for adapter in self.adapters.values() for parameter in (adapter.a, adapter.b)]

    def switch(self, on: bool) -> None:
        for adapter in self.adapters.values():
            adapter.on = on

    def reset(self, seed: int) -> None:
        """Untrained adapters, which change nothing."""
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        with torch.no_grad():
            for adapter in self.adapters.values():
                adapter.a.copy_(
                    torch.randn(adapter.a.shape, device=DEVICE, generator=generator) / math.sqrt(adapter.a.shape[1])
                )
                adapter.b.zero_()

    def restore(self, path: Path) -> None:
        """Adapters that `save` has written."""
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(str(path)).tensors}
        with torch.no_grad():
            for key, adapter in self.adapters.items():
                for part, parameter in (("a", adapter.a), ("b", adapter.b)):
                    tensor = tensors[f"{key}.weight.lora_{part}"]
                    values = np.array(dequantize(tensor.data, tensor.tensor_type))
                    parameter.copy_(torch.from_numpy(values).to(parameter).reshape(parameter.shape))

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def save(self, path: Path, name: str, notes: dict[str, str]) -> None:
        """The adapters in the form llama.cpp loads."""
        writer = gguf.GGUFWriter(str(path), "qwen2")
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", float(ALPHA))
        writer.add_name(name)
        for key, value in notes.items():
            writer.add_string(f"treadle.{key}", value)
        for key, adapter in self.adapters.items():
            for part, tensor in (("a", adapter.a), ("b", adapter.b)):
                writer.add_tensor(f"{key}.weight.lora_{part}", tensor.detach().to(torch.float16).cpu().numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    @torch.inference_mode()
    def generate(self, jobs: list[Job], limit: int) -> list[Written]:
        """Greedy, each under its grammar."""
        encoded = [self.encode(job.prompt) for job in jobs]
        count, width = len(encoded), max(map(len, encoded))
        ids = torch.full((count, width), self.end)
        attention = torch.zeros(count, width, dtype=torch.long)
        for index, tokens in enumerate(encoded):
            ids[index, width - len(tokens) :] = torch.tensor(tokens)
            attention[index, width - len(tokens) :] = 1
        ids, attention = ids.to(DEVICE), attention.to(DEVICE)
        positions = (attention.cumsum(1) - 1).clamp(min=0)
        matchers = [self._matcher(job.grammar) for job in jobs]
        options: list[dict[str, float]] = [{} for _ in jobs]
        output: list[list[int]] = [[] for _ in jobs]
        done = [False] * count
        bits = masks.allocate_token_bitmask(count, self.vocabulary)
        state = self.model.model(input_ids=ids, attention_mask=attention, position_ids=positions, use_cache=True)
        last = positions[:, -1:]
        for _ in range(limit):
            logits = self.model.lm_head(state.last_hidden_state[:, -1]).float()
            self._read_options(jobs, output, logits, options)
            chosen = self._choose(logits, matchers, done, bits)
            for index, token in enumerate(chosen.tolist()):
                if done[index]:
                    continue
                if token == self.end:
                    done[index] = True
                    continue
                output[index].append(token)
                matcher = matchers[index]
                if matcher is not None:
                    matcher.consume_token(token)
                    done[index] = matcher.is_stopped()
            if all(done):
                break
            attention = torch.cat([attention, torch.ones(count, 1, dtype=torch.long, device=DEVICE)], 1)
            last = last + 1
            state = self.model.model(
                input_ids=chosen[:, None],
                attention_mask=attention,
                position_ids=last,
                past_key_values=state.past_key_values,
                use_cache=True,
            )
        return [
            Written(self.tokenizer.decode(tokens, skip_special_tokens=False), end, wanted)
            for tokens, end, wanted in zip(output, done, options, strict=True)
        ]

    def _read_options(
        self, jobs: list[Job], output: list[list[int]], logits: torch.Tensor, options: list[dict[str, float]]
    ) -> None:
        for index, (job, tokens) in enumerate(zip(jobs, output, strict=True)):
            if not job.decision_after or options[index] or len(tokens) >= DECIDED_BY:
                continue
            if self.tokenizer.decode(tokens).endswith(job.decision_after):
                top = torch.softmax(logits[index], -1).topk(20)
                options[index] = {
                    self.tokenizer.decode([token]): round(probability, 4)
                    for token, probability in zip(top.indices.tolist(), top.values.tolist(), strict=True)
                }

    def _matcher(self, grammar: str | None) -> Any:
        if not grammar:
            return None
        matcher = llguidance.LLMatcher(self._guide, llguidance.LLMatcher.grammar_from_lark(grammar))
        if matcher.is_error():
            raise RuntimeError(f"the grammar was refused: {matcher.get_error()}")
        return matcher

    def _choose(self, logits: torch.Tensor, matchers: list[Any], done: list[bool], bits: Any) -> torch.Tensor:
        live = [(matcher, index) for index, matcher in enumerate(matchers) if matcher is not None and not done[index]]
        if not live:
            return logits.argmax(-1)
        bits[:] = -1
        if len(live) > 1:
            masks.fill_next_token_bitmask_par(self._executor, live, bits)
        else:
            masks.fill_next_token_bitmask(live[0][0], bits, live[0][1])
        packed = torch.from_numpy(bits).to(DEVICE)
        allowed = ((packed.unsqueeze(-1) >> self._bits) & 1).bool().view(len(done), -1)[:, : self.vocabulary]
        return logits.masked_fill(~allowed, float("-inf")).argmax(-1)


def _load(reader: gguf.GGUFReader) -> Qwen2ForCausalLM:
    def meta(key: str) -> Any:
        return reader.fields[f"qwen2.{key}"].contents()

    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = Qwen2Config(
        vocab_size=int(tensors["token_embd.weight"].shape[1]),
        hidden_size=meta("embedding_length"),
        intermediate_size=meta("feed_forward_length"),
        num_hidden_layers=meta("block_count"),
        num_attention_heads=meta("attention.head_count"),
        num_key_value_heads=meta("attention.head_count_kv"),
        rms_norm_eps=meta("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=32768,
        tie_word_embeddings="output.weight" not in tensors,
    )
    config.rope_theta = float(meta("rope.freq_base"))
    config.rope_parameters = {"rope_type": "default", "rope_theta": float(meta("rope.freq_base"))}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {
            _long_name(name): [pool.submit(_dequantized, tensor, *part) for part in _parts(tensor)]
            for name, tensor in tensors.items()
        }
        state = {
            name: torch.cat([f.result() for f in parts]) if len(parts) > 1 else parts[0].result()
            for name, parts in futures.items()
        }
    with torch.device("meta"):
        model = Qwen2ForCausalLM(config)
    loaded = model.load_state_dict(state, strict=False, assign=True)
    assert not loaded.unexpected_keys, loaded.unexpected_keys
    if config.tie_word_embeddings:
        model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)  # its buffers are in no file
    return model.to(DEVICE).eval().requires_grad_(False)


def _long_name(name: str) -> str:
    if name in OUTSIDE:
        return OUTSIDE[name]
    _, index, part, kind = name.split(".")
    return f"model.layers.{index}.{PROJECTIONS.get(part) or NORMS[part]}.{kind}"


def _parts(tensor: Any) -> list[tuple[int, int]]:
    rows = tensor.data.shape[0]
    pieces = 32 if tensor.n_elements > 20_000_000 else 1
    return [(rows * i // pieces, rows * (i + 1) // pieces) for i in range(pieces)]


def _dequantized(tensor: Any, start: int, stop: int) -> torch.Tensor:
    return torch.from_numpy(np.array(dequantize(tensor.data[start:stop], tensor.tensor_type))).to(DTYPE)
