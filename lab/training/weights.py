"""The base model: weights from a GGUF file, dequantized, and the tokenizer that the file describes.

Two families: Qwen 2.5, and Llama as SmolLM 2 has it.
"""

from __future__ import annotations

import concurrent.futures
import os
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
PROJECTIONS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "model.norm.weight",
}
FAMILIES: dict[str, tuple[Any, Any]] = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Weights:
    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(str(path))
        self.architecture = str(reader.fields["general.architecture"].contents())
        if self.architecture not in FAMILIES:
            raise ValueError(f"{path} is of the family {self.architecture}; known are {', '.join(FAMILIES)}")
        self.tokenizer = _tokenizer(reader)
        self.model = _load(reader, self.architecture)

    def rows_as_stored(self, projection: str, matrix: torch.Tensor) -> torch.Tensor:
        """The rows of a query or key projection in the order of the file.

        llama.cpp turns neighbouring dimensions by an angle where transformers turns those half a head apart, so
        files of the family `llama` have the rows of these two projections in another order."""
        heads = _turned_heads(self.architecture, projection, self.model.config)
        if not heads:
            return matrix
        return matrix.reshape(heads, 2, -1, matrix.shape[-1]).transpose(1, 2).reshape(matrix.shape)

    def rows_as_used(self, projection: str, matrix: torch.Tensor) -> torch.Tensor:
        """The other way."""
        return _rows_as_used(_turned_heads(self.architecture, projection, self.model.config), matrix)


def _turned_heads(architecture: str, projection: str, config: Any) -> int:
    if architecture != "llama" or projection not in ("attn_q", "attn_k"):
        return 0
    return int(config.num_attention_heads if projection == "attn_q" else config.num_key_value_heads)


def _rows_as_used(heads: int, matrix: torch.Tensor) -> torch.Tensor:
    return matrix.reshape(heads, -1, 2, matrix.shape[-1]).transpose(1, 2).reshape(matrix.shape) if heads else matrix


def _tokenizer(reader: gguf.GGUFReader) -> Tokenizer:
    """Byte-level pairs, with the family's way of splitting a text first."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(line.split(" ")) for line in reader.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    splitting = str(reader.fields["tokenizer.ggml.pre"].contents())
    if splitting == "qwen2":
        first = pre_tokenizers.Split(Regex(QWEN_SPLIT), behavior="isolated")
    elif splitting == "smollm":
        first = pre_tokenizers.Digits(individual_digits=True)
    else:
        raise ValueError(f"texts are split in a way that is not known here: {splitting}")
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splitting != "qwen2")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, plain])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == 3
        ]
    )
    return tokenizer


def _load(reader: gguf.GGUFReader, architecture: str) -> Any:
    make_config, make_model = FAMILIES[architecture]

    def meta(key: str) -> Any:
        return reader.fields[f"{architecture}.{key}"].contents()

    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = make_config(
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
    for short, long in PROJECTIONS.items():
        heads = _turned_heads(architecture, short, config)
        for index in range(config.num_hidden_layers if heads else 0):
            name = f"model.layers.{index}.{long}.weight"
            state[name] = _rows_as_used(heads, state[name])
    with torch.device("meta"):
        model = make_model(config)
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
