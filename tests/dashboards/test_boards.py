"""Dashboards are valid against Grafana's published schema, complete, and what is committed."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from dashboards.boards import BOARDS
from dashboards.build import dashboard_files, provisioning_files
from dashboards.grafana.board import Board
from dashboards.grafana.links import KEPT
from dashboards.grafana.panels import Kind
from dashboards.grafana.queries import Prom, Sql
from tests.paths import PROJECT, SHARED

SCHEMAS = SHARED / "grafana-schema"
GENERATED = PROJECT / "dashboards/generated"
PANELS = [(board, panel) for board in BOARDS for panel in board.panels]


def validator(name: str, definition: str) -> jsonschema_rs.Validator:
    schema = json.loads((SCHEMAS / f"{name}.jsonschema.json").read_text())
    return jsonschema_rs.validator_for({**schema, "$ref": f"#/definitions/{definition}"})


def errors(check: jsonschema_rs.Validator, value: object) -> list[str]:
    return [f"{list(e.instance_path)}: {e.message[:200]}" for e in check.iter_errors(value)]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_a_dashboard_has_no_schema_error(board: Board) -> None:
    assert errors(validator("dashboard", "Dashboard"), board.json(BOARDS)) == []


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_options_of_panels_fit_their_own_schemas(board: Board) -> None:
    files = {"timeseries": "timeseries", "stat": "stat", "table": "table", "bargauge": "bargauge"}
    files["state-timeline"] = "statetimeline"
    for panel in board.json(BOARDS)["panels"]:
        if panel["type"] in files:
            assert errors(validator(files[panel["type"]], "Options"), panel["options"]) == []
        if panel["type"] in ("timeseries", "table", "state-timeline"):
            custom = panel["fieldConfig"]["defaults"]["custom"]
            assert errors(validator(files[panel["type"]], "FieldConfig"), custom) == []


def test_the_schema_would_notice_what_grafanalib_alone_writes() -> None:
    from grafanalib._gen import DashboardEncoder
    from grafanalib.core import Dashboard, Stat

    raw = json.loads(
        json.dumps(Dashboard(title="x", panels=[Stat(title="y")]).to_json_data(), cls=DashboardEncoder)
    )
    assert errors(validator("dashboard", "Dashboard"), raw)


def test_what_is_committed_is_what_is_built() -> None:
    for name, text in {**dashboard_files(), **provisioning_files()}.items():
        assert (GENERATED / name).read_text("utf-8") == text, f"{name}: run `pdscope dashboards build`"


def test_panels_say_what_they_mean_what_to_do_and_why_they_are_empty() -> None:
    for board, panel in PANELS:
        assert len(panel.means) > 30, (board.uid, panel.title)
        assert len(panel.do) > 20, (board.uid, panel.title)
        assert len(panel.empty) > 20, (board.uid, panel.title)
        assert panel.description.count("**What to do:**") == 1


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    for board in BOARDS:
        cells: set[tuple[int, int]] = set()
        panels = board.json(BOARDS)["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        for panel in panels:
            at = panel["gridPos"]
            own = {
                (x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
            }
            assert not own & cells, (board.uid, panel["title"])
            assert at["x"] + at["w"] <= 24
            cells |= own


def test_links_keep_time_and_variables() -> None:
    uids = {board.uid for board in BOARDS}
    for board in BOARDS:
        model = board.json(BOARDS)
        assert {link["url"].removeprefix("/d/") for link in model["links"]} == uids - {board.uid}
        assert all(link["keepTime"] and link["includeVars"] for link in model["links"])
        for panel in model["panels"]:
            for link in panel.get("fieldConfig", {}).get("defaults", {}).get("links", []):
                assert re.match(rf"/d/({'|'.join(uids)})\?", link["url"])
                assert "${__url_time_range}" in link["url"]
                for name in KEPT:
                    assert f"${{{name}:queryparam}}" in link["url"] or f"var-{name}=" in link["url"]


def test_a_link_names_a_column_that_its_panel_shows() -> None:
    for _, panel in PANELS:
        if panel.link:
            titles = {column.title for column in panel.columns.values()}
            for _, value in panel.link.sets:
                (field,) = re.findall(r"__data\.fields\.(\w+)", value)
                assert field in titles, panel.title


def test_variables_are_the_same_everywhere() -> None:
    for board in BOARDS:
        names = [variable["name"] for variable in board.json(BOARDS)["templating"]["list"]]
        assert names[:2] == ["clickhouse", "prometheus"]
        assert set(KEPT) <= set(names)
        for panel in board.panels:
            for query in panel.queries:
                text = query.expr if isinstance(query, Prom) else _sql(query)
                used = set(re.findall(r"\$\{?(?!__)([a-z_]+)", text))
                assert used <= set(names), (board.uid, panel.title)


def _sql(query: Sql) -> str:
    from dashboards.grafana.queries import sql_text

    return sql_text(query.name)


def test_titles_and_units_name_columns_of_their_query() -> None:
    for board, panel in PANELS:
        known = {name for query in panel.queries if isinstance(query, Sql) for name in query.columns}
        if panel.kind is Kind.TABLE and board.uid != "pdscope-request":
            assert set(panel.columns) <= known, panel.title


def test_data_sources_are_provisioned_as_the_files_say(tmp_path: Path) -> None:
    import yaml

    files = provisioning_files()
    sources = yaml.safe_load(files["provisioning/datasources/pdscope.yml"])["datasources"]
    assert {source["type"] for source in sources} == {"grafana-clickhouse-datasource", "prometheus"}
