"""Several collectors that scrape the same divide the targets: each has one, whoever comes and goes."""

import time

import pytest
from prometheus_client import CollectorRegistry

from collector.errors import ConfigError
from collector.scrape import Scraper, read_scrape_config
from collector.scrape.shares import Divided, Everything, shares_of
from collector.store import Store
from tests.scrape.pages import serving

URLS = [f"http://10.0.0.{number}:8000/metrics" for number in range(200)]
PAGE = b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()


@pytest.fixture
def joined(store, tmp_path, monkeypatch):
    """Collectors that joined with a scrape file of that text, as soon as each sees the others."""
    monkeypatch.setattr("collector.store.presence.BEAT_S", 0.05)
    running = []

    def join(*texts):
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.yaml"
            path.write_text(text)
            running.append(Divided(store, path))
            running[-1].start()
        return running

    yield join
    for shares in running:
        shares.stop()


def holders(collectors):
    return [[number for number, one in enumerate(collectors) if one.mine(url)] for url in URLS]


def until(ask, bound=30.0):
    end = time.monotonic() + bound
    while not (found := ask()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_each_target_is_one_collectors(joined, request):
    collectors = joined(*[f"# {request.node.name}"] * 3)
    until(lambda: all(len(found) == 1 for found in holders(collectors)))
    shares = [sum(found == [number] for found in holders(collectors)) for number in range(3)]
    assert min(shares) > 30


def test_what_one_leaves_is_taken_over_and_nothing_else_moves(joined, request):
    collectors = joined(*[f"# {request.node.name}"] * 3)
    until(lambda: all(len(found) == 1 for found in holders(collectors)))
    before = holders(collectors)
    collectors[2].stop()
    left = collectors[:2]
    until(lambda: all(len(found) == 1 for found in holders(left)))
    kept = [(was, now) for was, now in zip(before, holders(left), strict=True) if was != [2]]
    assert all(was == now for was, now in kept)


def test_a_collector_with_another_file_is_not_counted_on(joined, request):
    one, other = joined(f"# {request.node.name}", "jobs: []")
    time.sleep(0.5)
    assert holders([one]) == holders([other]) == [[0]] * len(URLS)


def test_an_embedded_store_has_one_collector(store, tmp_path):
    assert isinstance(shares_of(store, tmp_path / "none.yaml"), Everything)


def test_a_scrape_file_that_is_not_there_is_told(store, tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read .*none\.yaml"):
        Divided(store, tmp_path / "none.yaml")


class Handed(Everything):
    """Shares that a test hands out."""

    has = True

    def mine(self, url):
        return self.has


def test_a_target_is_scraped_only_while_it_is_ones_own_and_has_not_left_when_it_is_handed_on(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("collector.scrape.scraper.DIVIDE_S", 0.05)
    kept, shares, registry = [], Handed(), CollectorRegistry()

    def submit(export, transport):
        from concurrent.futures import Future

        kept.append(export.body)
        done = Future()
        done.set_result({})
        return done

    def scraped():
        return registry.get_sample_value("pdscope_scrape_targets", {"job": "j"})

    with serving({"/metrics": PAGE}) as worker:
        path = tmp_path / "scrape.yaml"
        path.write_text(f"jobs: [{{job: j, interval_s: 1, targets: ['{worker.address}']}}]")
        scraper = Scraper(read_scrape_config(path), submit, registry, shares)
        scraper.start()
        try:
            until(lambda: worker.asked)
            shares.has = False
            until(lambda: scraped() == 0)
            asked = len(worker.asked)
            time.sleep(2.5)
            assert len(worker.asked) == asked
            shares.has = True
            until(lambda: len(worker.asked) > asked)
        finally:
            scraper.stop()
    assert kept
    assert not any(b"pdscope.target.left" in body for body in kept)
