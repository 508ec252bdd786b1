import json
import os

import pytest

from collector.errors import ConfigError
from collector.scrape.config import Job
from collector.scrape.file_targets import TargetFiles


def job(tmp_path, **settings):
    return Job("engines", files=(str(tmp_path / "*.json"), str(tmp_path / "*.yaml")), **settings)


def write(path, groups):
    path.write_text(json.dumps(groups))
    # A file system may keep whole seconds.
    write.clock += 10
    os.utime(path, (write.clock, write.clock))


write.clock = 1_700_000_000


def test_labels_mean_what_they_mean_in_prometheus_and_say_who_is_there(tmp_path):
    labels = {
        "pool": "prefill", "worker": "p-0", "pod": "pod-0", "pd_gpus": "8", "pd_compat_tp": "4", "zone": "a",
        "__scheme__": "https", "__metrics_path__": "/m", "__meta_x": "y", "job": "vllm",
    }  # fmt: skip
    write(tmp_path / "a.json", [{"targets": ["10.0.0.5:8100"], "labels": labels}])
    (found,) = TargetFiles(job(tmp_path)).changed()
    assert found.url == "https://10.0.0.5:8100/m"
    assert found.resource == {
        "service.name": "vllm", "service.instance.id": "p-0", "pd.pool": "prefill", "pd.gpus": "8",
        "pd.compat.tp": "4", "zone": "a", "k8s.pod.name": "pod-0",
    }  # fmt: skip


def test_a_worker_is_named_by_its_address_as_routers_name_it(tmp_path):
    (tmp_path / "a.yaml").write_text("- targets: ['10.0.0.5:8100', 'http://[::1]:9/x']\n")
    found = TargetFiles(job(tmp_path, pool="decode")).changed()
    assert [(target.url, target.worker, target.pool) for target in found] == [
        ("http://10.0.0.5:8100/metrics", "10.0.0.5:8100", "decode"),
        ("http://[::1]:9/x", "[::1]:9", "decode"),
    ]


def test_files_are_read_again_when_they_change_come_and_go(tmp_path):
    files = TargetFiles(job(tmp_path))
    write(tmp_path / "a.json", [{"targets": ["h:1"]}])
    assert len(files.changed()) == 1
    assert files.changed() is None
    write(tmp_path / "a.json", [{"targets": ["h:1", "h:2"]}])
    write(tmp_path / "b.json", [{"targets": ["h:3"]}])
    assert len(files.changed()) == 3
    (tmp_path / "a.json").unlink()
    assert [target.worker for target in files.changed()] == ["h:3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "neither JSON nor YAML"),
        ('{"targets": []}', "expected a list"),
        ('[{"targets": "h:1"}]', "a list of HOST:PORT"),
        ('[{"targets": ["h:1"], "labels": []}]', "labels must be a mapping"),
        ('[{"targets": ["h:1"], "labels": {"pool": "fast"}}]', "pool 'fast'"),
        ('[{"targets": ["h:x"]}]', "h:x"),
        ('[{"targets": ["ftp://h:1"]}]', "expected HOST:PORT"),
        ('[{"targets": ["http://[::1:80"]}]', "Invalid IPv6"),
        ("[" * 5000, "neither JSON nor YAML"),
    ],
)
def test_a_broken_file_keeps_what_it_said_before_and_is_named(tmp_path, text, said):
    files = TargetFiles(job(tmp_path))
    write(tmp_path / "a.json", [{"targets": ["h:1"]}])
    files.changed()
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigError, match=said) as told:
        files.changed()
    assert "a.json" in str(told.value)
    assert [target.worker for target in files.targets] == ["h:1"]
    assert files.changed() is None
