"""Pages made of tables in the code are in step with them, and say what the tables say."""

from collections.abc import Callable

import pytest

from collector import settings_page
from collector.engines import ADAPTERS
from collector.engines import table as engines_page
from collector.engines.rules import Source
from collector.engines.table import sightings
from collector.generated_page import main
from collector.phases import Phase
from collector.settings import SETTINGS
from tests.paths import PROJECT

PAGES = [("engines.md", engines_page.render), ("settings.md", settings_page.render)]


@pytest.mark.parametrize(("page", "render"), PAGES, ids=[page for page, _ in PAGES])
def test_a_page_is_in_step(page: str, render: Callable[[], str]) -> None:
    assert main(render, ["--check", str(PROJECT / "docs" / page)]) == 0, "run `make docs`"


def test_a_stale_page_is_told(tmp_path, capsys) -> None:
    (tmp_path / "page.md").write_text("old\n")
    assert main(lambda: "new\n", ["--check", str(tmp_path / "page.md")]) == 1
    assert "-old\n+new\n" in capsys.readouterr().out
    assert main(lambda: "new\n", [str(tmp_path / "page.md")]) == 0
    assert main(lambda: "new\n", ["--check", str(tmp_path / "page.md")]) == 0


def test_a_setting_has_a_row() -> None:
    page = settings_page.render()
    assert [setting.name for setting in SETTINGS if f"| `{setting.name}` |" not in page] == []


def test_a_secret_has_no_flag() -> None:
    assert [
        setting.flag
        for setting in SETTINGS
        if setting.secret and f"`{setting.flag}`" in settings_page.render()
    ] == []


def test_an_engine_has_a_section_with_all_it_says() -> None:
    page = engines_page.render()
    for adapter in ADAPTERS:
        section = page.partition(f"\n## {adapter.title}\n")[2].partition("\n## ")[0]
        assert adapter.switch_on in section
        for said in (*adapter.known_lies, *(rule.metric for rule in adapter.signals)):
            assert said in section


def test_phases_are_known_as_the_adapters_say() -> None:
    by_name = {adapter.name: adapter for adapter in ADAPTERS}
    vllm = {phase: sightings(by_name["vllm"], phase) for phase in Phase}
    assert [seen.source for seen in vllm[Phase.PREFILL_COMPUTE]] == [Source.DERIVED, Source.DERIVED]
    assert {(seen.source, bool(seen.needs)) for seen in vllm[Phase.KV_TRANSFER]} == {
        (Source.OBSERVED, True),
        (Source.BOUNDED, False),
    }
    # Between two marks, of which one comes from the connector alone.
    assert vllm[Phase.DECODE_QUEUE][0].source is Source.DERIVED
    assert vllm[Phase.DECODE_QUEUE][0].needs
    assert vllm[Phase.NETWORK_STREAMING] == []
    assert {seen.source for seen in sightings(by_name["dynamo"], Phase.PREFILL_QUEUE)} == {Source.BOUNDED}
    assert [seen.source for seen in sightings(by_name["native"], Phase.TOKENIZE)] == [
        Source.OBSERVED,
        Source.DERIVED,
    ]
