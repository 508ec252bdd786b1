"""Reading config.json: kinds of attention, and errors that name file and field."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.plan.errors import BadModelConfig
from analyzer.plan.model_config import model_shape, read_model_config

GQA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 512,
}


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in GQA.items() if name != field}


def test_multi_head_has_as_many_kv_heads_as_heads() -> None:
    assert model_shape(without("num_key_value_heads"), "c").values_per_token == 4 * 2 * 8 * 64


def test_multi_query_has_one() -> None:
    assert (
        model_shape({**without("num_key_value_heads"), "multi_query": True}, "c").values_per_token
        == 4 * 2 * 64
    )


def test_a_multimodal_wrapper_keeps_its_language_model_in_text_config() -> None:
    assert model_shape({"model_type": "llava", "text_config": GQA}, "c").values_per_token == 4 * 2 * 2 * 64


def test_jamba_layers_alternate_by_period_and_offset() -> None:
    config = {
        **GQA, "num_hidden_layers": 16, "attn_layer_period": 8, "attn_layer_offset": 4,
        "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4,
    }  # fmt: skip

    groups = {group.kind: group for group in model_shape(config, "c").groups}

    assert groups["full_attention"].layers == 2
    assert groups["mamba"].layers == 14
    assert groups["mamba"].state_values == 1024 * (16 + 3)


def test_qwen2_slides_only_above_max_window_layers() -> None:
    config = {**GQA, "sliding_window": 128, "use_sliding_window": True, "max_window_layers": 3}

    assert [(g.kind, g.layers) for g in model_shape(config, "c").groups] == [
        ("full_attention", 3),
        ("sliding_attention", 1),
    ]


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (without("num_hidden_layers"), "num_hidden_layers"),
        (without("num_attention_heads"), "num_attention_heads"),
        (without("hidden_size"), "hidden_size"),
        ({**GQA, "num_hidden_layers": 0}, "num_hidden_layers"),
        ({**GQA, "num_hidden_layers": -4}, "num_hidden_layers"),
        ({**GQA, "num_hidden_layers": "4"}, "num_hidden_layers"),
        ({**GQA, "num_hidden_layers": True}, "num_hidden_layers"),
        ({**GQA, "num_key_value_heads": 3}, "num_key_value_heads"),
        ({**GQA, "num_key_value_heads": 16}, "num_key_value_heads"),
        ({**GQA, "hidden_size": 513}, "hidden_size"),
        ({**GQA, "torch_dtype": "float7"}, "torch_dtype"),
        ({**GQA, "kv_lora_rank": 512}, "qk_rope_head_dim"),
        ({**GQA, "layer_types": ["full_attention"] * 3}, "layer_types"),
        ({**GQA, "layer_types": ["quantum"] * 4}, "layer_types"),
        ({**GQA, "layer_types": [None] * 4}, "layer_types"),
        ({**GQA, "layer_types": ["sliding_attention"] * 4}, "sliding_window"),
        ({**GQA, "attn_layer_period": 2, "attn_layer_offset": 2}, "attn_layer_offset"),
    ],
)
def test_a_config_that_lacks_a_field_or_contradicts_itself_is_refused(
    config: dict[str, Any], field: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))

    with pytest.raises(BadModelConfig, match=f"config.json: field {field}: "):
        read_model_config(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"llama"', "[" * 100_000])
def test_a_file_that_is_no_config_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)

    with pytest.raises(BadModelConfig, match=r"config\.json"):
        read_model_config(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadModelConfig, match=r"no\.json: cannot be read"):
        read_model_config(tmp_path / "no.json")
