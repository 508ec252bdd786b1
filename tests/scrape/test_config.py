import re
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.scrape.config import read_scrape_config
from tests.paths import PROJECT

FULL = """\
jobs:
  - job: vllm-prefill
    pool: prefill
    interval_s: 5
    timeout_s: 2
    scheme: https
    bearer_token_file: token
    tls: {ca: ca.pem, cert: c.pem, key: k.pem, server_name: engines}
    labels: {pd_cohort: a}
    also: ["vllm:lora_requests_info"]
    targets:
      - 10.0.0.5:8100
      - {target: 10.0.0.6:8100, worker: p-1, pod: pod-1, labels: {pd_gpus: 8}}
  - job: files
    files: [targets/*.json]
  - job: pods
    kubernetes: {namespace: llm, labels: {app: vllm, llm-d.ai/role: [prefill, decode], x: }, port: metrics}
  - job: trtllm
    kind: trtllm_perf_metrics
    pool: router
    targets: [10.0.0.7:8000]
"""


def read(tmp_path, text):
    path = tmp_path / "scrape.yaml"
    path.write_text(text)
    return read_scrape_config(path)


def test_a_full_file(tmp_path):
    prefill, files, pods, records = read(tmp_path, FULL).jobs
    assert [target.worker for target in prefill.targets] == ["10.0.0.5:8100", "p-1"]
    assert prefill.targets[1].resource["pd.gpus"] == "8"
    assert prefill.targets[1].resource["pd.cohort"] == "a"
    assert (prefill.interval_s, prefill.timeout_s) == (5.0, 2.0)
    assert prefill.bearer_token_file == tmp_path / "token"
    assert prefill.tls.ca == tmp_path / "ca.pem"
    assert files.files == (str(tmp_path / "targets/*.json"),)
    assert pods.pods.labels == (("app", ("vllm",)), ("llm-d.ai/role", ("prefill", "decode")), ("x", ()))
    assert records.targets[0].url == "http://10.0.0.7:8000/perf_metrics"


def test_an_empty_file_scrapes_nothing(tmp_path):
    assert read(tmp_path, "").jobs == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs: [{job: a}]", "nothing would be scraped"),
        ("jobs: [{targets: [h:1]}]", "a job needs a name"),
        ("jobs: [{job: a, targets: [h:1], pool: fast}]", "'fast' is none of"),
        ("jobs: [{job: a, targets: [h:1], intervall_s: 3}]", "did you mean 'interval_s'"),
        ("jobs: [{job: a, targets: [h:1], interval_s: 0}]", "interval_s 0 is no number"),
        ("jobs: [{job: a, targets: [h:1], interval_s: 3, timeout_s: 4}]", "longer than interval_s"),
        ("jobs: [{job: a, targets: [h:1], kind: json}]", "kind 'json'"),
        ("jobs: [{job: a, targets: [h:1], scheme: ftp}]", "scheme 'ftp'"),
        ("jobs: [{job: a, targets: [{worker: w}]}]", "needs an address"),
        ("jobs: [{job: a, targets: ['h:99999']}]", "h:99999"),
        ("jobs: [{job: a, targets: ['user:secret@h:1']}]", "expected HOST:PORT"),
        ("jobs: [{job: a, targets: [h:1], tls: {cert: c}}]", "cert and key go together"),
        ("jobs: [{job: a, targets: [h:1]}, {job: a, targets: [h:2]}]", "two jobs are called 'a'"),
        ("targets: [h:1]", "unknown key 'targets'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, text, said):
    with pytest.raises(ConfigError, match=said) as told:
        read(tmp_path, text)
    assert "scrape.yaml:1" in str(told.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        read_scrape_config(Path(tmp_path / "nowhere.yaml"))


@pytest.mark.parametrize("page", ["README.md", "docs/operating.md"])
def test_the_files_shown_in_the_docs_are_files_that_it_takes(tmp_path, page):
    blocks = re.findall(r"```yaml\n(# scrape\.yaml.*?)```", (PROJECT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        assert read(tmp_path, block).jobs
