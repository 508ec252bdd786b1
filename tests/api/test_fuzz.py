"""No parameter makes REST fail: whatever is asked, the answer is a result or the one error shape."""

from urllib.parse import quote

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.store.store import Store
from tests.api.rows import a_request, insert

ODD_TEXT = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "",
            "0",
            "-0",
            "1e400",
            "NaN",
            "'",
            "\\",
            "{a:String}",
            "%(a)s",
            "%s",
            "\\N",
            "\ud7ff",
            "9" * 400,
            "true",
            "٣",
        ]
    ),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
)
KNOWN = st.sampled_from(
    [
        "ttft",
        "tpot",
        "itl",
        "decode",
        "kv_transfer",
        "model",
        "worker",
        "slowest",
        "newest",
        "ok",
        "none",
        "prefill",
        "60",
    ]
)
NAMES = (
    *("from", "to", "model", "tenant", "route", "cohort", "pool", "worker", "ttft", "tpot", "target", "step"),
    *("metric", "by", "raw", "outcome", "missed", "cause", "order", "limit", "cursor"),
    *("format", "gpus", "baseline", "candidate", "baseline_from", "baseline_to", "baseline_gpus", "seed"),
)
PATHS = st.one_of(
    st.sampled_from(
        ["slo", "slo/timeseries", "slo/report", "compare", "latency", "requests", "telemetry", "openapi.json"]
    ),
    st.one_of(ODD_TEXT, st.binary(min_size=16, max_size=16).map(bytes.hex)).map(
        lambda id_: f"requests/{quote(id_, safe='')}"
    ),
)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(path=PATHS, params=st.dictionaries(st.sampled_from(NAMES), ODD_TEXT | KNOWN, max_size=5))
def test_no_parameter_makes_rest_fail(
    store: Store, client: httpx.Client, path: str, params: dict[str, str]
) -> None:
    if not store.query("SELECT count() FROM requests")[0][0]:
        insert(store, [a_request(1, name="r"), a_request(2)])
    answer = client.get(f"/api/v1/{path}", params=params)
    assert answer.status_code in (200, 300, 307, 400, 404), answer.text
    if answer.status_code >= 400:
        assert set(answer.json()["error"]) == {"code", "message", "field"}
