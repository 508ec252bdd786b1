"""Every REST operation, called as its own OpenAPI document says and otherwise: never a 500.

Needs schemathesis, which is no dependency of pdscope: `pip install schemathesis`.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from prometheus_client import CollectorRegistry

from analyzer.api.app import create_app
from analyzer.api.services import Readiness, Services
from analyzer.slo.objectives import Objectives
from collector.settings import Settings
from collector.store import Store

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
INPUTS = max(5, int(os.environ.get("PDSCOPE_FUZZ_INPUTS") or 200) // 20)


@pytest.mark.filterwarnings("ignore")
def test_no_call_is_a_server_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers: Counter[int] = Counter()
    store = Store.open(tmp_path)
    services = Services(
        store=store,
        objectives=lambda: Objectives(),
        importer=None,
        registry=CollectorRegistry(),
        ready=lambda: Readiness(True),
        settings=Settings(),
    )
    try:
        schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", create_app(services))
        operations = [found.ok() for found in schema.get_all_operations()]
        for operation in operations:

            @given(case=operation.as_strategy())
            @settings(max_examples=INPUTS, deadline=None, suppress_health_check=list(HealthCheck))
            def called(case: object) -> None:
                answer = case.call()  # type: ignore[attr-defined]
                answers[answer.status_code] += 1
                assert answer.status_code < 500 or answer.status_code in (501, 503)

            called()
    finally:
        store.close()
    with capsys.disabled():
        print(f"\nREST: {len(operations)} operations, {sum(answers.values())} calls, answers {dict(answers)}")
    assert len(operations) > 8
