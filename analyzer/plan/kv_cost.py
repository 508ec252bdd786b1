"""Bytes of KV per token, and what moving it to another pool costs at least.

Per token and layer: K and V of every KV head, or one latent and one rotary key (see model_config).
Layer-wise hand-off sends a layer's KV while the next layers still compute, so that only the last layer
is exposed when the link keeps up (Splitwise, arXiv:2311.18677, section 4.3).
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from analyzer.plan.errors import BadPlan, need_not_negative, need_positive
from analyzer.plan.model_config import DTYPE_BYTES, LayerGroup, ModelShape

Floats = npt.NDArray[np.float64]
Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KvFormat:
    """How KV values are stored.

    `scale_bytes_per_head` is what quantised caches add per token, layer and K or V head (0 when a scale
    covers a whole tensor). Blocks of `block_tokens` are never shared by two sequences' tails.
    """

    dtype: str = "bfloat16"
    scale_bytes_per_head: float = 0.0
    block_tokens: int = 16

    def __post_init__(self) -> None:
        if self.dtype not in DTYPE_BYTES:
            raise BadPlan(f"KV dtype is {self.dtype!r}; known: {', '.join(sorted(DTYPE_BYTES))}")
        need_not_negative("scale_bytes_per_head", self.scale_bytes_per_head)
        if self.block_tokens < 1:
            raise BadPlan(f"block_tokens is {self.block_tokens}; it must be at least 1")

    @property
    def value_bytes(self) -> float:
        """Bytes of one KV value."""
        return DTYPE_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Sharding:
    """How one instance is split: by tensor, by pipeline stage, by context."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        if min(self.tensor, self.pipeline, self.context) < 1:
            raise BadPlan(f"sharding {self.tensor}/{self.pipeline}/{self.context}: each must be at least 1")


def _layer_bytes(group: LayerGroup, kv: KvFormat, share: float = 1.0) -> float:
    """Bytes per token of one layer; `share` of its heads."""
    scales = (2 * group.heads if group.heads else 1) if group.values_per_token else 0
    return share * (group.values_per_token * kv.value_bytes + scales * kv.scale_bytes_per_head)


def bytes_per_token(shape: ModelShape, kv: KvFormat) -> float:
    """Bytes one more token adds over all layers, while every window still has room."""
    return sum(group.layers * _layer_bytes(group, kv) for group in shape.groups)


def sequence_bytes(shape: ModelShape, kv: KvFormat, tokens: int) -> float:
    """Bytes one sequence of `tokens` holds: padded to whole blocks, windows capped, states included."""
    if tokens < 1:
        raise BadPlan(f"a sequence of {tokens} tokens holds no KV; tokens must be at least 1")
    total = 0.0
    for group in shape.groups:
        held = tokens if group.window is None else min(tokens, group.window)
        padded = ceil(held / kv.block_tokens) * kv.block_tokens
        total += group.layers * (padded * _layer_bytes(group, kv) + group.state_values * kv.value_bytes)
    return total


def rank_bytes_per_token(shape: ModelShape, kv: KvFormat, sharding: Sharding) -> float:
    """Bytes per token on the fullest rank.

    Heads are split over the tensor ranks and repeated when there are more ranks than heads; a latent is
    not split and repeated on each. Stages hold whole layers; context ranks hold tokens in turn.
    """
    if sharding.pipeline > shape.layers:
        raise BadPlan(f"pipeline {sharding.pipeline} is more than the model's {shape.layers} layers")
    total = 0.0
    for group in shape.groups:
        share = 1.0
        if group.heads:
            if group.heads % sharding.tensor and sharding.tensor % group.heads:
                raise BadPlan(f"{group.heads} KV heads cannot be split evenly over tensor {sharding.tensor}")
            share = max(1, group.heads // sharding.tensor) / group.heads
        total += group.layers * _layer_bytes(group, kv, share)
    stage = ceil(shape.layers / sharding.pipeline) / shape.layers
    return total * stage / sharding.context


@dataclass(frozen=True, slots=True)
class Link:
    """The way from a prefill to a decode instance: `nics` used at once, each at a share of its rate."""

    nics: int
    nic_bytes_per_s: float
    efficiency: float

    def __post_init__(self) -> None:
        if self.nics < 1:
            raise BadPlan(f"nics is {self.nics}; it must be at least 1")
        need_positive("nic_bytes_per_s", self.nic_bytes_per_s)
        if not 0 < self.efficiency <= 1:
            raise BadPlan(f"link efficiency is {self.efficiency}; it must be above 0 and at most 1")

    @property
    def peak_bytes_per_s(self) -> float:
        """Line rate of all NICs; never reached."""
        return self.nics * self.nic_bytes_per_s

    @property
    def effective_bytes_per_s(self) -> float:
        """What is reached: line rate times efficiency."""
        return self.peak_bytes_per_s * self.efficiency


@dataclass(frozen=True, slots=True)
class Transfer:
    """What the hand-off of one prompt's KV costs: `overhead_s` per hand-off plus bytes over the link.

    With `overlap` a layer is sent while later layers compute. Contention between hand-offs is not modelled.
    """

    bytes_per_token: float
    layers: int
    link: Link
    overlap: bool = True
    overhead_s: float = 0.0

    def __post_init__(self) -> None:
        need_positive("KV bytes_per_token", self.bytes_per_token)
        need_not_negative("transfer overhead_s", self.overhead_s)
        if self.layers < 1:
            raise BadPlan(f"layers is {self.layers}; it must be at least 1")

    @property
    def seconds_per_token(self) -> float:
        """Lower bound of the transfer time per token."""
        return self.bytes_per_token / self.link.effective_bytes_per_s

    def wire_s(self, tokens: float) -> float:
        """Lower bound for `tokens`: the bytes alone."""
        return tokens * self.seconds_per_token

    def exposed_s(self, tokens: float, prefill_s: float) -> float:
        """Seconds a request waits after its prefill ends, for `tokens` computed in `prefill_s`.

        Overlapped, the layers before the last travel during the prefill as far as it lasts; what they
        need beyond it, and always the last layer, is exposed.
        """
        wire = self.wire_s(tokens)
        if not self.overlap:
            return self.overhead_s + wire
        last = wire / self.layers
        hidden = prefill_s * (self.layers - 1) / self.layers
        return self.overhead_s + max(last, wire - hidden)


def exposed_each(transfer: Transfer, prompt: Tokens, uncached: Tokens, compute_s_per_token: float) -> Floats:
    """`Transfer.exposed_s` for columns of prompts, each computed in `compute_s_per_token` a token."""
    wire: Floats = prompt.astype(np.float64) * transfer.seconds_per_token
    if not transfer.overlap:
        return wire + transfer.overhead_s
    hidden: Floats = uncached.astype(np.float64) * (
        compute_s_per_token * (transfer.layers - 1) / transfer.layers
    )
    return np.maximum(wire / transfer.layers, wire - hidden) + transfer.overhead_s


def transfer_to_recompute(transfer: Transfer, compute_s_per_token: float) -> float:
    """Transfer time per token over prefill time per token; at 1 and above recomputing is no slower."""
    return transfer.seconds_per_token / need_positive("compute_s_per_token", compute_s_per_token)
