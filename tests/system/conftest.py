"""A whole deployment into which a day of incidents was played, and a table of what it showed."""

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Page, expect, sync_playwright

from collector.tokens import new_token
from tests.dashboards.programs import wait_for
from tests.deploy.native import running
from tests.docs.pages import blocks
from tests.docs.workspace import Workspace, workspace
from tests.packaging.installed import build, install
from tests.paths import PROJECT
from tests.scrape.cluster import cluster, pod
from tests.scrape.pages import Worker, captured, serving
from tests.system.day import CHAT, PATIENCE_S, TENANT, TOKEN, Day, play_the_day
from tests.web.conftest import CHROMIUM, FLAGS

SERVED = ("collector-1", "collector-2", "analyzer-1", "analyzer-2")
README = PROJECT / "README.md"


@dataclass(frozen=True)
class Scraped:
    """Workers whose metrics collectors ask for: two of the README's file, one of a file, one pod."""

    prefill: Worker
    decode: Worker
    listed: Worker
    pod: Worker

    @property
    def addresses(self) -> set[str]:
        """Names by which they are known."""
        return {worker.address for worker in (self.prefill, self.decode, self.listed, self.pod)}


@pytest.fixture(scope="package", autouse=True)
def _no_proxy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="package")
def workers() -> Iterator[Scraped]:
    """Engines' pages as they were recorded."""
    pages = {
        role: {"/metrics": captured(f"vllm-0.32.0/baseline/metrics_{role}.prom.txt.gz")[-1].encode()}
        for role in ("prefill", "decode")
    }
    with (
        serving(pages["prefill"]) as prefill,
        serving(pages["decode"]) as decode,
        serving(pages["decode"]) as listed,
        serving(pages["prefill"]) as in_a_pod,
    ):
        yield Scraped(prefill, decode, listed, in_a_pod)


@pytest.fixture(scope="package")
def day(tmp_path_factory: pytest.TempPathFactory, workers: Scraped) -> Iterator[Day]:
    """What docker-compose.yml calls `scale`, run natively, after the day."""
    folder = tmp_path_factory.mktemp("deployment")
    config = folder / "deploy/config"
    config.mkdir(parents=True)
    (config / "slo.yaml").write_text(_objectives())
    token, hashed = new_token()
    (config / "tokens.yaml").write_text(f"{TENANT}: {{read: '{hashed}'}}\n")
    grants = ("--tenant-tokens", str(config / "tokens.yaml"))
    more = {"rules": ("--shorten", "40", "--every", "1"), "analyzer-1": grants, "analyzer-2": grants}
    with cluster(config) as kubernetes:
        kubernetes.pods = [pod("prefill-0", port=workers.pod.port)]
        (config / "scrape.yaml").write_text(_scrape(workers, config))
        with running("scale", folder, more, {"PDSCOPE_SCRAPE": "/etc/pdscope/scrape.yaml"}) as native:
            for name in SERVED:
                wait_for(
                    lambda name=name: native.get(name, 8080, "/readyz").is_success,
                    PATIENCE_S,
                    lambda name=name: native.programs[name].lines,
                )
            yield play_the_day(native, token)


def _objectives() -> str:
    """What the README shows, then one for its model's other requests, then one for every model."""
    (shown,) = [block for block in blocks(README, "yaml") if block.startswith("objectives:")]
    rest = [
        {"name": "chat-any", "selector": {"model": CHAT}, "ttft": 0.8, "tpot": 0.04, "target": 0.99},
        {"name": "everyone", "ttft": 0.8, "tpot": 0.04, "target": 0.99},
    ]
    return shown + "\n" + textwrap.indent(yaml.safe_dump(rest), "  ")


def _scrape(workers: Scraped, folder: Path) -> str:
    """What the README shows, with this machine's addresses, and a job for a file and for pods."""
    (shown,) = [block for block in blocks(README, "yaml") if "jobs:" in block]
    shown = shown.replace("127.0.0.1:8100", workers.prefill.address)
    shown = shown.replace("127.0.0.1:8200", workers.decode.address)
    (folder / "targets.json").write_text(json.dumps([{"targets": [workers.listed.address]}]))
    pods = "{namespace: llm, port: metrics, kubeconfig: kubeconfig}"
    return f"{shown}\n  - {{job: listed, files: [targets.json]}}\n  - {{job: pods, kubernetes: {pods}}}\n"


@pytest.fixture(scope="package")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """One who follows the README: pdscope with its own engine, and a directory to type commands in."""
    with workspace(tmp_path_factory.mktemp("reader")) as made:
        yield made


@pytest.fixture(scope="package")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command as installed from the wheel."""
    return install(build(tmp_path_factory.mktemp("wheel")), tmp_path_factory.mktemp("installed"))


OpenPage = Callable[[str], Page]


@pytest.fixture(scope="package")
def open_page(day: Day, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPage]:
    """Opens a real page of the second analyzer with a token; scripts that fail fail the tests."""
    address = day.native.url("analyzer-2", 8080)
    complaints: list[str] = []
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"), executable_path=CHROMIUM, args=FLAGS, timezone_id="UTC"
        )
        context.set_default_timeout(60_000)

        def opened(token: str) -> Page:
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda r: None if r.url.startswith(address) else complaints.append(r.url))
            page.goto(f"{address}/")
            page.get_by_label("Token").fill(token)
            page.keyboard.press("Enter")
            expect(page.locator(".tile").first).to_be_visible()
            return page

        yield opened
        context.close()
    assert complaints == []


@pytest.fixture(scope="package")
def page(open_page: OpenPage) -> Page:
    """The operator's page."""
    return open_page(TOKEN)


@pytest.fixture(autouse=True)
def _noted(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    """Put what a test promises, and how it shows it, on its report."""
    marker = request.node.get_closest_marker("promise")
    if marker:
        shown = " ".join((request.function.__doc__ or "").split())
        record_property("promise", (marker.args, shown, request.node.name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for the day waits for all of it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(2 * PATIENCE_S))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print every promise with how it was shown."""
    rows = [
        (dict(report.user_properties)["promise"], word)
        for outcome, word in (("passed", "shown"), ("failed", "NOT SHOWN"), ("error", "NOT SHOWN"))
        for report in terminalreporter.stats.get(outcome, ())
        if "promise" in dict(getattr(report, "user_properties", ()))
    ]
    if not rows:
        return
    terminalreporter.section("what the README promises, and how it was shown")
    for (quotes, shown, name), word in rows:
        part = name.partition("[")[2].rstrip("]")
        for quote in quotes:
            terminalreporter.write_line(f"{word:>9}  {quote}")
        terminalreporter.write_line(f"{'':>11}by: {shown}{f' ({part})' if part else ''}")
