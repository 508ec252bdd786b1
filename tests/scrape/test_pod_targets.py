"""Targets from Kubernetes, against a local server that answers as its API does."""

import asyncio
from dataclasses import replace

import pytest

from collector.errors import ConfigError, Unavailable
from collector.scrape.config import Job, PodsOf
from collector.scrape.pod_targets import pod_changes
from tests.scrape.cluster import cluster, pod, status


@pytest.fixture
def held(tmp_path):
    with cluster(tmp_path) as found:
        yield found


def job(held, **settings):
    return Job("pods", pods=PodsOf("llm", (("app", ("vllm",)),), kubeconfig=held.kubeconfig, **settings))


def changes(held, wanted, act=lambda _: None, job_=None):
    """The first changes of one list and watch; `act` is called once the list has been read."""

    async def read():
        found = []
        events = pod_changes(job_ or job(held), {})
        async for change in events:
            found.append(change)
            if len(found) == 1:
                act(held)
            if len(found) == wanted:
                await events.aclose()
                break
        return found

    return asyncio.run(asyncio.wait_for(read(), 20))


def gone(change):
    return {target.pod: why for target, why in change.gone.items()}


def test_all_pages_of_a_list_are_read_and_labels_say_who_is_there(held):
    held.pods = [pod(f"prefill-{i}", f"10.0.0.{i}") for i in range(4)] + [pod("decode-0", "10.0.1.0")]
    (listed,) = changes(held, 1)
    assert len(listed.come) == 5
    decode = next(target for target in listed.come if target.pool == "decode")
    assert (decode.url, decode.worker, decode.pod) == (
        "http://10.0.1.0:8100/metrics",
        "10.0.1.0:8100",
        "decode-0",
    )
    assert decode.resource["k8s.node.name"] == "node-1"
    first = held.asked[0][1]
    assert (first["labelSelector"], first["limit"]) == (["app=vllm"], ["500"])
    assert [query["continue"] for _, query in held.asked[1:]] == [["2"], ["4"]]


def test_the_watch_goes_on_from_the_list(held):
    held.pods = [pod("prefill-0", "10.0.0.1")]
    _, second = changes(held, 2, lambda h: h.send("ADDED", pod("decode-1", "10.0.0.9")))
    assert [target.worker for target in second.come] == ["10.0.0.9:8100"]
    watch = next(query for _, query in held.asked if "watch" in query)
    assert watch["resourceVersion"] == ["100"]


def test_a_pod_asked_to_go_has_left_and_one_that_vanished_was_lost(held):
    held.pods = [pod("prefill-0", "10.0.0.1"), pod("decode-0", "10.0.0.2")]
    leaving = pod("prefill-0", "10.0.0.1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def act(h):
        h.send("MODIFIED", leaving)
        h.send("DELETED", leaving)
        h.send("DELETED", pod("decode-0", "10.0.0.2"))

    _, orderly, lost = changes(held, 3, act)
    assert gone(orderly) == {"prefill-0": ("deleted", False)}
    assert gone(lost) == {"decode-0": ("deleted", True)}


def test_a_pod_that_failed_says_why(held):
    held.pods = [pod("decode-0", "10.0.0.2")]
    evicted = pod("decode-0", status={"phase": "Failed", "reason": "Evicted"})
    _, change = changes(held, 2, lambda h: h.send("MODIFIED", evicted))
    assert gone(change) == {"decode-0": ("Evicted", True)}


def test_a_pod_that_moved_to_another_address_is_another_target(held):
    held.pods = [pod("decode-0", "10.0.0.2")]
    _, change = changes(held, 2, lambda h: h.send("MODIFIED", pod("decode-0", "10.0.0.3")))
    assert [target.worker for target in change.come] == ["10.0.0.3:8100"]
    assert gone(change) == {"decode-0": ("changed", False)}


@pytest.mark.parametrize("in_stream", [True, False])
def test_what_is_too_old_to_go_on_from_is_listed_again_and_what_went_meanwhile_is_noticed(held, in_stream):
    held.pods = [pod("decode-0", "10.0.0.2"), pod("decode-1", "10.0.0.3")]
    known = {}

    async def once():
        return [change async for change in pod_changes(job(held), known)]

    if in_stream:
        held.send("ERROR", status(410, "Expired", "too old resource version"))
    else:
        held.gone = True
    (first,) = asyncio.run(asyncio.wait_for(once(), 20))
    assert len(first.come) == 2
    held.pods = [pod("decode-1", "10.0.0.3")]
    held.gone = True
    (second,) = asyncio.run(asyncio.wait_for(once(), 20))
    assert gone(second) == {"decode-0": ("deleted", True)}
    assert list(second.come) == []


@pytest.mark.parametrize(
    ("change", "port", "expected"),
    [
        ({}, "metrics", 8100),
        ({}, "9000", 9000),
        ({"metadata__annotations": {"prometheus.io/port": "7"}}, "", 7),
        (
            {"spec__containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 2}]}]},
            "",
            None,
        ),
        ({"spec__containers": [{"name": "a"}]}, "", None),
        ({"status": {"phase": "Pending"}}, "", None),
        ({"status": {"phase": "Running"}}, "", None),
    ],
)
def test_a_pod_without_an_address_or_a_clear_port_is_no_target(held, change, port, expected):
    held.pods = [pod("decode-0", "10.0.0.2", **change)]
    (listed,) = changes(held, 1, job_=job(held, port=port))
    assert [target.url for target in listed.come] == (
        [f"http://10.0.0.2:{expected}/metrics"] if expected else []
    )


def test_a_refusal_says_what_the_cluster_said(held):
    held.forbidden = True
    with pytest.raises(Unavailable, match="cannot list resource"):
        changes(held, 1)


def test_a_cluster_that_does_not_answer_is_tried_again_by_whoever_asked(held):
    held.kubeconfig.write_text(
        held.kubeconfig.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1#")
    )
    with pytest.raises(Unavailable):
        changes(held, 1)


def test_no_way_to_a_cluster_is_told(held, tmp_path):
    nowhere = replace(job(held), pods=PodsOf(kubeconfig=tmp_path / "none"))
    with pytest.raises(ConfigError, match="no way to Kubernetes"):
        changes(held, 1, job_=nowhere)
