"""KV bytes and hand-off costs of known models."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.plan.errors import BadPlan
from analyzer.plan.kv_cost import (
    KvFormat,
    Link,
    Sharding,
    Transfer,
    bytes_per_token,
    exposed_each,
    rank_bytes_per_token,
    sequence_bytes,
    transfer_to_recompute,
)
from analyzer.plan.model_config import ModelShape, model_shape

BF16 = KvFormat()
LLAMA_70B = {
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
}
LLAMA_8B = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
DEEPSEEK_V3 = {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
GEMMA = {
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
}


def shape(config: dict[str, Any]) -> ModelShape:
    return model_shape(config, "config.json")


def test_llama_3_70b_keeps_320_kib_per_token() -> None:
    assert bytes_per_token(shape(LLAMA_70B), BF16) == 320 * 1024


def test_llama_3_8b_keeps_128_kib_per_token() -> None:
    assert bytes_per_token(shape(LLAMA_8B), BF16) == 128 * 1024


def test_deepseek_v3_keeps_a_latent_and_a_rotary_key_in_each_of_61_layers() -> None:
    assert shape(DEEPSEEK_V3).values_per_token == (512 + 64) * 61 == 35_136


@pytest.mark.parametrize(
    ("config", "parameters", "accelerators", "link", "transfer_us", "prefill_us", "percent"),
    [
        (LLAMA_70B, 70.6e9, 8, Link(8, 50e9, 0.8), "1.0", "29", "3.5"),
        (LLAMA_70B, 70.6e9, 8, Link(1, 12.5e9, 0.8), "32.8", "29", "111.4"),
        (LLAMA_8B, 8.03e9, 1, Link(1, 50e9, 0.8), "3.3", "27", "12.2"),
    ],
)
def test_transfer_against_recompute(
    config: dict[str, Any], parameters: float, accelerators: int, link: Link, transfer_us: str,
    prefill_us: str,
    percent: str,
) -> None:  # fmt: skip
    model = shape(config)
    transfer = Transfer(bytes_per_token(model, BF16), model.layers, link)
    prefill = 2 * parameters / accelerators / 600e12

    assert f"{transfer.seconds_per_token * 1e6:.1f}" == transfer_us
    assert f"{prefill * 1e6:.0f}" == prefill_us
    assert f"{100 * transfer_to_recompute(transfer, prefill):.1f}" == percent


def test_overlap_exposes_the_last_layer_when_the_link_keeps_up_and_more_when_not() -> None:
    fast = Transfer(327_680, 80, Link(8, 50e9, 0.8), overhead_s=0.002)
    slow = Transfer(327_680, 80, Link(1, 12.5e9, 0.8))
    prefill = 2000 * 29.4e-6

    assert fast.exposed_s(2000, prefill) == pytest.approx(0.002 + fast.wire_s(2000) / 80)
    assert slow.exposed_s(2000, prefill) == pytest.approx(slow.wire_s(2000) - prefill * 79 / 80)


@given(st.integers(1, 200_000), st.floats(0, 100), st.floats(0.05, 1))
def test_overlap_never_exposes_more_than_a_plain_transfer(
    tokens: int, prefill: float, efficiency: float
) -> None:
    link = Link(1, 12.5e9, efficiency)
    plain = Transfer(327_680, 80, link, overlap=False).exposed_s(tokens, prefill)

    overlapped = Transfer(327_680, 80, link)
    exposed = overlapped.exposed_s(tokens, prefill)

    assert 0 < exposed <= plain * (1 + 1e-12)
    (each,) = exposed_each(overlapped, np.array([tokens]), np.array([tokens]), prefill / tokens)
    assert each == pytest.approx(exposed, rel=1e-12, abs=1e-15)


def test_fp8_halves_the_bytes_and_per_head_scales_add_theirs() -> None:
    model = shape(LLAMA_70B)

    assert bytes_per_token(model, KvFormat("fp8")) == 160 * 1024
    assert bytes_per_token(model, KvFormat("fp8", scale_bytes_per_head=4)) == 160 * 1024 + 80 * 2 * 8 * 4


def test_sharding_splits_heads_and_repeats_what_it_cannot_split() -> None:
    model, full = shape(LLAMA_70B), 320 * 1024

    assert rank_bytes_per_token(model, BF16, Sharding(tensor=8)) == full / 8
    assert rank_bytes_per_token(model, BF16, Sharding(tensor=16)) == full / 8  # eight heads on sixteen ranks
    assert rank_bytes_per_token(model, BF16, Sharding(tensor=2, pipeline=4, context=2)) == full / 16
    latent = shape(DEEPSEEK_V3)
    whole = bytes_per_token(latent, BF16)
    assert rank_bytes_per_token(latent, BF16, Sharding(tensor=8)) == whole
    with pytest.raises(BadPlan, match="8 KV heads"):
        rank_bytes_per_token(model, BF16, Sharding(tensor=3))


def test_a_sequence_is_padded_to_blocks_and_windows_are_capped() -> None:
    model = shape(GEMMA)
    layer = 2 * 4 * 256 * 2

    assert sequence_bytes(model, BF16, 17) == 12 * layer * 32
    assert sequence_bytes(model, BF16, 8192) == (10 * 1024 + 2 * 8192) * layer


def test_a_hybrid_keeps_a_state_per_sequence_beside_its_attention_layers() -> None:
    config = {
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_conv_kernel_dim": 4,
    }
    model = shape(config)
    state = 32 * 128 * 128 + 3 * (2 * 16 * 128 + 32 * 128)

    assert bytes_per_token(model, BF16) == 2 * 2 * 256 * 2
    assert sequence_bytes(model, BF16, 16) == 3 * state * 2 + 16 * 2 * 2 * 256 * 2


@pytest.mark.parametrize("efficiency", [0, -0.1, 1.01])
def test_an_efficiency_outside_its_range_is_refused(efficiency: float) -> None:
    with pytest.raises(BadPlan, match="efficiency"):
        Link(1, 1e9, efficiency)
