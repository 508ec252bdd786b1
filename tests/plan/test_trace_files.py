"""Public traces as workloads, and bad rows named by file and line."""

from pathlib import Path

import pytest

from analyzer.plan.errors import BadTrace
from analyzer.plan.provenance import Label
from analyzer.plan.trace_files import read_trace
from tests.paths import SHARED

DATA = SHARED / "data"
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"


def azure(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "trace.csv"
    path.write_bytes((HEADER + body).encode())
    return path


def mooncake(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text(body)
    return path


@pytest.mark.parametrize(
    ("name", "requests", "span", "first"),
    [
        ("AzureLLMInferenceTrace_code.csv", 8819, 3435.948, (4808, 10)),
        ("AzureLLMInferenceTrace_conv.csv", 19_366, 3501.722, (374, 44)),
        ("mooncake_conversation_trace.jsonl", 12_031, 3536.999, (6758, 500)),
    ],
)
def test_published_traces_are_read_whole(
    name: str, requests: int, span: float, first: tuple[int, int]
) -> None:
    workload = read_trace(DATA / name)

    assert len(workload) == requests
    assert workload.span_s == pytest.approx(span, abs=0.001)
    assert (workload.prompt[0], workload.output[0]) == first
    assert workload.label is Label.OBSERVED


def test_leading_blocks_seen_before_count_as_cached(tmp_path: Path) -> None:
    path = mooncake(
        tmp_path,
        '{"timestamp": 0, "input_length": 1200, "output_length": 5, "hash_ids": [7, 8, 9]}\n'
        '{"timestamp": 500, "input_length": 1400, "output_length": 5, "hash_ids": [7, 8, 4]}\n'
        '{"timestamp": 500, "input_length": 1024, "output_length": 5, "hash_ids": [7, 8]}\n'
        '{"timestamp": 900, "input_length": 1024, "output_length": 5, "hash_ids": [1, 8]}\n',
    )

    assert read_trace(path).cached == (0, 1024, 1023, 0)  # the last token of a prompt is always computed
    assert read_trace(path, prefix_cache=False).cached == (0, 0, 0, 0)
    assert read_trace(path).arrival_s == (0.0, 0.5, 0.5, 0.9)


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("2023-11-16 18:00:01.0,5,5\r\n2023-11-16 18:00:00.0,5,5\r\n", 3, "sort the file"),
        (",5,5\r\n", 2, "TIMESTAMP is ''"),
        ("yesterday,5,5\r\n", 2, "TIMESTAMP is 'yesterday'"),
        ("2023-11-16 18:00:01.-5,5,5\r\n", 2, "TIMESTAMP"),
        ("2023-11-16 18:00:01.0,5\r\n", 2, "2 columns"),
        ("2023-11-16 18:00:01.0,five,5\r\n", 2, "ContextTokens is 'five'"),
        ("2023-11-16 18:00:01.0,5,-5\r\n", 2, "-5 output tokens"),
        ("2023-11-16 18:00:01.0,5,5\r\n2023-11-16 18:00:02.0,0,5\r\n", 3, "0 prompt"),
        ("2023-11-16 18:00:01.0,5,99999999999\r\n", 2, "output tokens"),
    ],
)
def test_a_bad_azure_row_is_named(tmp_path: Path, body: str, line: int, problem: str) -> None:
    with pytest.raises(BadTrace, match=rf"trace\.csv:{line}: .*{problem}"):
        read_trace(azure(tmp_path, body))


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("{}\n", 1, "timestamp is None"),
        ("[]\n", 1, "not a JSON object"),
        ("nope\n", 1, "not a JSON object"),
        ('{"timestamp": 5, "input_length": 5, "output_length": 5}\n' * 2 + "x\n", 3, "not a JSON object"),
        ('{"timestamp": -1, "input_length": 5, "output_length": 5}\n', 1, "timestamp is -1"),
        ('{"timestamp": NaN, "input_length": 5, "output_length": 5}\n', 1, "timestamp is nan"),
        ('{"timestamp": 1, "input_length": 5.5, "output_length": 5}\n', 1, "input_length is 5.5"),
        ('{"timestamp": 1, "input_length": true, "output_length": 5}\n', 1, "input_length is True"),
        ('{"timestamp": 1, "input_length": 0, "output_length": 5}\n', 1, "0 prompt"),
        ('{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [[1]]}\n', 1, "hash_ids"),
    ],
)
def test_a_bad_mooncake_line_is_named(tmp_path: Path, body: str, line: int, problem: str) -> None:
    with pytest.raises(BadTrace, match=rf"trace\.jsonl:{line}: .*{problem}"):
        read_trace(mooncake(tmp_path, body))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadTrace, match="UTF-8"):
        read_trace(tmp_path / "bad.csv")
    with pytest.raises(BadTrace, match="holds no requests"):
        read_trace(azure(tmp_path, ""))
    with pytest.raises(BadTrace, match="unknown kind"):
        read_trace(tmp_path / "trace.parquet")
    with pytest.raises(BadTrace, match="cannot be read"):
        read_trace(tmp_path / "missing.csv")
    (tmp_path / "head.csv").write_text("time,in,out\n")
    with pytest.raises(BadTrace, match=r"head\.csv:1: the header"):
        read_trace(tmp_path / "head.csv")
