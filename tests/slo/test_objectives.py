"""Reading slo.yaml."""

from pathlib import Path

import pytest

from analyzer.slo.objectives import DEFAULT, Objective, Objectives, Selector, load_objectives
from collector.errors import ConfigError

GOOD = """
objectives:
  - name: chat
    selector: {model: llama, route: chat, tenant: acme, input_bucket: 0-1K}
    ttft: 1.5
    tpot: 0.04
    target: 0.995
    period_days: 7
  - name: rest
    ttft: 3
    tpot: 0.1
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "slo.yaml"
    path.write_text(text, "utf-8")
    return path


def test_reads_a_file_in_order(tmp_path: Path) -> None:
    selector = Selector("llama", "chat", "acme", "0-1K")
    assert load_objectives(write(tmp_path, GOOD)).items == (
        Objective("chat", 1.5, 0.04, 0.995, 7, selector),
        Objective("rest", 3.0, 0.1, 0.99, 30),
    )


def test_without_a_file_the_default_applies() -> None:
    assert load_objectives(None) == Objectives((DEFAULT,))


def test_a_list_without_a_catch_all_ends_with_the_default(tmp_path: Path) -> None:
    text = "objectives: [{name: a, selector: {model: m}, ttft: 1, tpot: 1}]"
    assert load_objectives(write(tmp_path, text)).items[-1] is DEFAULT


def test_an_override_replaces_what_is_given_and_says_so() -> None:
    changed = Objectives().override(ttft=0.5, target=0.9).items[0]
    assert (changed.ttft, changed.tpot, changed.target, changed.source) == (
        0.5,
        DEFAULT.tpot,
        0.9,
        "override",
    )
    assert Objectives().override() == Objectives()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("objectives:\n- name: a\n  tfft: 1\n  tpot: 1", ["slo.yaml:3", "'tfft'", "did you mean 'ttft'?"]),
        ("objectives:\n- name: a\n  ttft: 1", ["slo.yaml:2", "tpot"]),
        ("objectives:\n- name: a\n  ttft: fast\n  tpot: 1", ["slo.yaml:3", "ttft", "'fast'", "seconds"]),
        ("objectives:\n- name: a\n  ttft: -1\n  tpot: 1", ["slo.yaml:3", "ttft", "-1"]),
        ("objectives:\n- name: a\n  ttft: .nan\n  tpot: 1", ["slo.yaml:3", "nan"]),
        ("objectives:\n- name: a\n  ttft: true\n  tpot: 1", ["slo.yaml:3", "True"]),
        ("objectives:\n- name: a\n  ttft: 1\n  tpot: 1\n  target: 99", ["slo.yaml:5", "target", "fraction"]),
        ("objectives:\n- name: a\n  ttft: 1\n  tpot: 1\n  period_days: 0.5", ["slo.yaml:5", "period_days"]),
        ("objectives:\n- name: 7\n  ttft: 1\n  tpot: 1", ["slo.yaml:2", "name", "quote it"]),
        ("objectives:\n- {name: a, ttft: 1, tpot: 1, selector: {modle: x}}", ["'modle'", "'model'"]),
        ("objectives:\n- {name: a, ttft: 1, tpot: 1, selector: {input_bucket: 2K}}", ["2K", "16K+"]),
        (
            "objectives:\n- {name: a, ttft: 1, tpot: 1}\n- {name: a, ttft: 1, tpot: 1}",
            ["slo.yaml:3", "twice"],
        ),
        ("objectives:\n- name: a\n  name: b\n  ttft: 1\n  tpot: 1", ["slo.yaml:3", "'name'", "twice"]),
        ("objectives: 3", ["slo.yaml:1", "list"]),
        ("objective: []", ["'objective'", "'objectives'"]),
        ("[1, 2]", ["slo.yaml:1", "mapping"]),
        ("", ["slo.yaml", "empty"]),
        ("objectives: [", ["slo.yaml", "not valid YAML"]),
        ("a: &a [*a]", ["slo.yaml"]),
        ("objectives: []", ["slo.yaml:1", "at least one"]),
        ("[" * 5000, ["slo.yaml", "not valid YAML"]),
        ("objectives: \0", ["slo.yaml", "not valid YAML"]),
        ('a: !!int ""', ["slo.yaml", "not valid YAML"]),
        ("a: !!bool x", ["slo.yaml", "not valid YAML"]),
        ("a: !!timestamp x", ["slo.yaml", "not valid YAML"]),
        ("a: " + "9" * 5000, ["slo.yaml", "not valid YAML"]),
        ("objectives:\n- name: a\n  ttft: 0x" + "f" * 5000, ["slo.yaml:3", "20,000 bits"]),
        ("x: !!python/object/apply:os.system [true]", ["slo.yaml"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        load_objectives(write(tmp_path, text))
    for word in words:
        assert word in str(refused.value)


def test_aliases_cannot_multiply_without_end(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="not a settings file"):
        load_objectives(write(tmp_path, "\n".join(lines)))


def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_objectives(tmp_path / "none.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_objectives(binary)
