"""What the page on instrumenting says runs."""

import re
from pathlib import Path

import pytest

from collector.instrument import PhaseTracer
from collector.instrument.vllm_connector import __doc__ as connector_doc

PAGE = (Path(__file__).parents[2] / "docs" / "instrumenting.md").read_text()


def test_the_ten_lines_are_ten_and_run(monkeypatch, exporter, provider):
    code = PAGE.partition("## Your own router")[2].partition("`request.sent`")[0]
    code = "\n".join(line[4:] for line in code.splitlines() if line.startswith("    "))
    body = code.partition("async def handle")[2]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10
    monkeypatch.setattr(PhaseTracer, "connect", classmethod(lambda cls, endpoint, worker: cls(provider)))
    scope = {}
    exec(code, scope)

    async def choose(body):
        return "worker"

    async def forward(worker, body, headers):
        assert "traceparent" in headers
        yield b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'

    async def send(chunk):
        pass

    scope.update(choose=choose, forward=forward)
    with pytest.raises(StopIteration):
        scope["handle"]({}, {}, send).send(None)
    names = [span.name for span in exporter.get_finished_spans()]
    assert names == ["pd.router_queue", "pd.request"]
    assert exporter.get_finished_spans()[1].attributes["pd.outcome"] == "ok"


def test_every_switch_of_the_connector_is_on_the_page():
    switches = set(re.findall(r"PDSCOPE_KV_\w+", connector_doc))
    assert switches == set(re.findall(r"PDSCOPE_KV_\w+", PAGE)) != set()


def test_the_launch_line_names_a_module_that_exists():
    (module,) = set(re.findall(r'"kv_connector_module_path": "([\w.]+)"', PAGE))
    assert module == "collector.instrument.vllm_connector"
