"""What a model keeps per token, read from its Hugging Face `config.json`.

Covers multi-head, grouped-query and multi-query attention, multi-head latent attention (DeepSeek-V2,
arXiv:2405.04434, section 2.1: one latent and one shared rotary key per token and layer), sliding or
chunked windows, and hybrids whose other layers keep a state of fixed size per sequence.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.plan.errors import BadModelConfig

DTYPE_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}
"""Bytes of one value; `fp8` stands for both of its encodings."""

_WINDOWED = {"sliding_attention", "chunked_attention"}


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`layers` equal layers.

    Each keeps `values_per_token` values of at most `window` tokens (None: all tokens), split over
    `heads` KV heads when sharded (0: not splittable, every rank keeps all), and `state_values` values
    per sequence whatever its length.
    """

    kind: str
    layers: int
    values_per_token: int
    heads: int
    window: int | None = None
    state_values: int = 0


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What a model's KV cache holds: its groups of equal layers and the dtype of the weights."""

    name: str
    groups: tuple[LayerGroup, ...]
    dtype: str

    @property
    def layers(self) -> int:
        """Layers in all."""
        return sum(group.layers for group in self.groups)

    @property
    def values_per_token(self) -> int:
        """KV values one token adds while every window still has room."""
        return sum(group.layers * group.values_per_token for group in self.groups)


class _Fields:
    """Typed access to one config with errors that name file and field."""

    def __init__(self, raw: dict[str, Any], where: str) -> None:
        self.raw, self.where = raw, where

    def fail(self, field: str, problem: str) -> BadModelConfig:
        return BadModelConfig(f"{self.where}: field {field}: {problem}")

    def count(self, field: str, default: int | None = None) -> int:
        value = self.raw.get(field)
        if value is None:
            if default is None:
                raise self.fail(field, "is missing; it is needed to size the KV cache")
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.fail(field, f"is {value!r}; it must be a whole number above 0")
        return value


def read_model_config(path: Path) -> ModelShape:
    """The shape in the file at `path`; BadModelConfig when it cannot be read or is wrong."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadModelConfig(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadModelConfig(f"{path}: is not JSON: {error}") from error
    return model_shape(raw, str(path))


def model_shape(raw: Any, where: str) -> ModelShape:
    """The shape described by a parsed `config.json`; `where` names it in errors."""
    if not isinstance(raw, dict):
        raise BadModelConfig(f"{where}: the top level is {type(raw).__name__}, not an object")
    if isinstance(raw.get("text_config"), dict):  # multimodal wrappers keep the language model here
        raw = {"model_type": raw.get("model_type"), **raw["text_config"]}
    fields = _Fields(raw, where)
    layers = fields.count("num_hidden_layers")
    if raw.get("kv_lora_rank") is not None:
        groups: tuple[LayerGroup, ...] = (_latent(fields, layers),)
    else:
        groups = _attention(fields, layers)
    return ModelShape(str(raw.get("model_type") or "unnamed"), groups, _dtype(fields))


def _dtype(fields: _Fields) -> str:
    value = fields.raw.get("torch_dtype", fields.raw.get("dtype", "bfloat16"))
    if value not in DTYPE_BYTES:
        raise fields.fail("torch_dtype", f"is {value!r}; known: {', '.join(sorted(DTYPE_BYTES))}")
    return str(value)


def _latent(fields: _Fields, layers: int) -> LayerGroup:
    values = fields.count("kv_lora_rank") + fields.count("qk_rope_head_dim")
    return LayerGroup("latent", layers, values, heads=0)


def _attention(fields: _Fields, layers: int) -> tuple[LayerGroup, ...]:
    heads = fields.count("num_attention_heads")
    kv_heads = fields.count("num_key_value_heads", 1 if fields.raw.get("multi_query") else heads)
    if kv_heads > heads or heads % kv_heads:
        raise fields.fail(
            "num_key_value_heads", f"is {kv_heads}, which does not divide num_attention_heads ({heads})"
        )
    values = 2 * kv_heads * _head_dim(fields, heads)
    counts: dict[str, int] = {}
    for kind in _layer_kinds(fields, layers):
        counts[kind] = counts.get(kind, 0) + 1
    return tuple(_group(fields, kind, n, values, kv_heads) for kind, n in counts.items())


def _head_dim(fields: _Fields, heads: int) -> int:
    if fields.raw.get("head_dim") is not None:
        return fields.count("head_dim")
    hidden = fields.count("hidden_size")
    if hidden % heads:
        raise fields.fail("hidden_size", f"is {hidden}, not a multiple of num_attention_heads ({heads})")
    return hidden // heads


def _group(fields: _Fields, kind: str, layers: int, values: int, kv_heads: int) -> LayerGroup:
    if kind in _WINDOWED:
        name = "attention_chunk_size" if kind == "chunked_attention" else "sliding_window"
        return LayerGroup(kind, layers, values, kv_heads, window=fields.count(name))
    if kind == "linear_attention":
        return LayerGroup(kind, layers, 0, 0, state_values=_linear_state(fields))
    if kind == "mamba":
        return LayerGroup(kind, layers, 0, 0, state_values=_mamba_state(fields))
    return LayerGroup(kind, layers, values, kv_heads)


def _linear_state(fields: _Fields) -> int:
    """Gated delta net: one key x value matrix per value head, and the convolution's tail."""
    key, value = fields.count("linear_key_head_dim"), fields.count("linear_value_head_dim")
    key_heads, value_heads = fields.count("linear_num_key_heads"), fields.count("linear_num_value_heads")
    tail = fields.count("linear_conv_kernel_dim") - 1
    return value_heads * key * value + tail * (2 * key_heads * key + value_heads * value)


def _mamba_state(fields: _Fields) -> int:
    """Mamba: the state of every inner channel, and the convolution's tail (arXiv:2312.00752, figure 3)."""
    inner = fields.count("mamba_expand") * fields.count("hidden_size")
    return inner * (fields.count("mamba_d_state") + fields.count("mamba_d_conv") - 1)


def _layer_kinds(fields: _Fields, layers: int) -> list[str]:
    """The kind of every layer, from whichever of the usual fields the config has."""
    raw = fields.raw
    if raw.get("layer_types") is not None:
        return _listed_kinds(fields, layers)
    if raw.get("attn_layer_period") is not None:
        period, offset = fields.count("attn_layer_period"), raw.get("attn_layer_offset", 0)
        if not isinstance(offset, int) or not 0 <= offset < period:
            raise fields.fail("attn_layer_offset", f"is {offset!r}; it must be 0 to {period - 1}")
        return ["full_attention" if i % period == offset else "mamba" for i in range(layers)]
    if raw.get("sliding_window") is None or raw.get("use_sliding_window") is False:
        return ["full_attention"] * layers
    if raw.get("sliding_window_pattern") is not None:  # every n-th layer sees everything
        pattern = fields.count("sliding_window_pattern")
        return ["sliding_attention" if (i + 1) % pattern else "full_attention" for i in range(layers)]
    full = raw.get("max_window_layers", 0) if raw.get("use_sliding_window") else 0
    if not isinstance(full, int) or not 0 <= full <= layers:
        raise fields.fail("max_window_layers", f"is {full!r}; it must be 0 to {layers}")
    return ["full_attention"] * full + ["sliding_attention"] * (layers - full)


def _listed_kinds(fields: _Fields, layers: int) -> list[str]:
    kinds = fields.raw["layer_types"]
    if not isinstance(kinds, list) or len(kinds) != layers:
        size = len(kinds) if isinstance(kinds, list) else "no"
        raise fields.fail("layer_types", f"lists {size} layers, num_hidden_layers says {layers}")
    known = {"full_attention", "linear_attention", "mamba"} | _WINDOWED
    names = {"attention": "full_attention", "global": "full_attention", "local": "sliding_attention"}
    named = [names.get(kind, kind) if isinstance(kind, str) else str(kind) for kind in kinds]
    if unknown := sorted(set(named) - known):
        raise fields.fail("layer_types", f"has unknown kinds: {', '.join(unknown)}")
    return named
