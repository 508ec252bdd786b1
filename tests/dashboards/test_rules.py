"""Alert rules: promtool takes them, every alert fires, stays silent and resolves, burn rates are right."""

import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzer.slo.objectives import Objective, Objectives, Selector
from dashboards.alerts.burn import burn_groups
from dashboards.alerts.causes import ALERTS
from dashboards.alerts.places import Places
from dashboards.alerts.prometheus import rule_file
from dashboards.alerts.windows import duration, pairs
from dashboards.yaml_text import dump, number
from tests.dashboards.conftest import Promtool
from tests.dashboards.rule_cases import CASES, MET, MISSED, TPOT, TTFT, Case
from tests.paths import PROJECT

ONE = Objectives()
THREE = Objectives(
    (
        Objective('a"quoted\\name', 0.8, 0.03, 0.999, 7, Selector(model="llama")),
        Objective("month", 1.5, 0.04, 0.95, 90),
        Objective("default", 2.0, 0.1),
    )
)


def check(promtool: Promtool, folder: Path, text: str) -> str:
    (folder / "rules.yml").write_text(text)
    done = promtool("check", "rules", folder / "rules.yml")
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(promtool: Promtool, folder: Path, objectives: Objectives, tests: Iterable[dict[str, Any]]) -> None:
    (folder / "rules.yml").write_text(rule_file(objectives, Places()))
    suite = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": list(tests)}
    (folder / "test.yml").write_text(dump(suite))
    done = promtool("test", "rules", folder / "test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def series(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": text} for name, text in values.items()]


@pytest.mark.parametrize("objectives", [ONE, THREE], ids=["default", "three"])
def test_promtool_takes_the_rules(promtool: Promtool, tmp_path: Path, objectives: Objectives) -> None:
    assert "SUCCESS" in check(promtool, tmp_path, rule_file(objectives, Places()))


def test_the_committed_rules_are_what_is_built() -> None:
    committed = (PROJECT / "dashboards/generated/prometheus/pdscope.rules.yml").read_text("utf-8")
    assert committed == rule_file(ONE, Places()), "run `pdscope rules build --out dashboards/generated`"


def test_every_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == {alert.name for alert in ALERTS}


UP = {'up{job="pdscope",instance="a"}': "1x90"}


def test_every_alert_fires_stays_silent_and_resolves(promtool: Promtool, tmp_path: Path) -> None:
    run(promtool, tmp_path, ONE, [as_test(case) for case in CASES])


def as_test(case: Case) -> dict[str, Any]:
    """The alert as the series ALERTS shows it: promtool's own alert test compares annotations as well."""
    given = {**UP, **case.series}
    count = f'count(ALERTS{{alertname="{case.alert}", alertstate="firing"}}) or vector(0)'
    labels = ", ".join(
        f'{key}="{value}"'
        for key, value in {"alertname": case.alert, "alertstate": "firing", **case.labels}.items()
    )
    fired = {"labels": f"ALERTS{{{labels}}}", "value": 1}
    return {
        "name": case.alert,
        "interval": "1m",
        "input_series": series(given),
        "promql_expr_test": [
            {"expr": f'ALERTS{{alertname="{case.alert}", alertstate="firing"}}', "eval_time": case.at,
             "exp_samples": [fired]},
            *({"expr": count, "eval_time": at, "exp_samples": [{"labels": "{}", "value": 0}]}
              for at in case.silent_at),
        ],
    }  # fmt: skip


def test_annotations_carry_the_numbers(promtool: Promtool, tmp_path: Path) -> None:
    (case,) = [case for case in CASES if case.alert == "PdscopeTransferSlow"]
    expected = {
        "exp_labels": case.labels,
        "exp_annotations": {
            "summary": "default: transfer_delay.slow_link burns the budget 5.0 times too fast",
            "description": "50 requests of the last 10 minutes missed for transfer_delay.slow_link "
            "(model m).",
            "dashboard": "http://localhost:3000/d/pdscope-handoff?from=now-1h&to=now&var-objective=default",
            "runbook_url": "https://github.com/pdscope/pdscope/blob/main/docs/runbooks/"
            "transfer_delay.slow_link.md",
        },
    }
    test = {
        "interval": "1m",
        "input_series": series(case.series | UP),
        "alert_rule_test": [{"eval_time": "15m", "alertname": case.alert, "exp_alerts": [expected]}],
    }
    run(promtool, tmp_path, ONE, [test])


def burning(slo: str, met: int, missed: int, hours: int, ttft: int = 0, tpot: int = 0) -> dict[str, str]:
    """Counters that grow by so many a minute for some hours, then only by met ones."""
    minutes = hours * 60
    return {
        MET.format(slo=slo): f"0+{met}x{minutes + 600}",
        MISSED.format(slo=slo): f"0+{missed}x{minutes} {missed * minutes}x600",
        TTFT.format(slo=slo): f"0+{ttft}x{minutes} {ttft * minutes}x600",
        TPOT.format(slo=slo): f"0+{tpot}x{minutes} {tpot * minutes}x600",
        'up{job="pdscope",instance="a"}': f"1x{minutes + 600}",
        'pdscope_missed_requests_by_cause{slo="default",model="m",cause="overload"}': f"7x{minutes + 600}",
    }


def test_burn_rates_are_what_they_are_by_hand(promtool: Promtool, tmp_path: Path) -> None:
    # 80 met and 20 missed a minute: a fifth misses, a hundredth may: 20 times too fast.
    # After two hours the misses stop; half an hour later half of the last hour's misses are left.
    values = {
        **burning("default", 80, 20, 2, ttft=15, tpot=5),
    }
    rate = "pdscope:slo_burn_rate"
    base = 'slo="default", model="all", pair="1"'

    def expect(length: str, sli: str, window: str, at: str, value: float) -> dict[str, Any]:
        labels = f'{{{base}, sli="{sli}", window="{window}"}}'
        expr = f'round({rate}:{length}{{sli="{sli}", pair="1"}}, 0.0001)'
        return {"expr": expr, "eval_time": at, "exp_samples": [{"labels": labels, "value": value}]}

    checks = [
        expect("long", "joint", "1h", "90m", 20),
        expect("short", "joint", "5m", "90m", 20),
        expect("long", "ttft", "1h", "90m", 15),
        expect("long", "tpot", "1h", "90m", 5),
        expect("short", "joint", "5m", "150m", 0),
        # 30 minutes of misses in the hour: 600 of 600 + 80 × 60.
        expect("long", "joint", "1h", "150m", 11.1111),
    ]
    test = {"interval": "1m", "input_series": series(values), "promql_expr_test": checks}
    run(promtool, tmp_path, ONE, [test])


def test_a_burn_alert_fires_and_resolves_soon_after_it_is_over(promtool: Promtool, tmp_path: Path) -> None:
    values = burning("default", 80, 20, 2, ttft=20)
    paged = 'sum by (sli, pair) (ALERTS{alertname="PdscopeBudgetBurn", severity="page", alertstate="firing"})'
    during = [
        {"labels": f'{{sli="{sli}", pair="{pair}"}}', "value": 1}
        for sli in ("joint", "ttft")
        for pair in ("1", "2")
    ]
    checks = [
        {"expr": paged, "eval_time": "1m", "exp_samples": []},
        {"expr": paged, "eval_time": "110m", "exp_samples": during},
        # Misses ended at 120 min; by now they have left both short windows, of 5 and of 30 minutes.
        {"expr": paged, "eval_time": "170m", "exp_samples": []},
    ]
    test = {"interval": "1m", "input_series": series(values), "promql_expr_test": checks}
    run(promtool, tmp_path, ONE, [test])


def test_a_burn_within_the_budget_stays_silent(promtool: Promtool, tmp_path: Path) -> None:
    # One in two hundred misses: half the pace that just spends the budget.
    values = burning("default", 199, 1, 8)
    checks = [
        {"expr": 'ALERTS{alertname="PdscopeBudgetBurn"}', "eval_time": at, "exp_samples": []}
        for at in ("60m", "7h")
    ]
    test = {"interval": "1m", "input_series": series(values), "promql_expr_test": checks}
    run(promtool, tmp_path, ONE, [test])


def test_burn_alerts_say_what_was_missed_and_why(promtool: Promtool, tmp_path: Path) -> None:
    values = burning("default", 80, 20, 2)
    expected = {
        "exp_labels": {
            "severity": "page", "slo": "default", "model": "all",
            "sli": "joint", "pair": "1", "window": "1h",
        },
        "exp_annotations": {
            "summary": "default: the error budget burns 20.0 times too fast (TTFT or TPOT, or failed)",
            "description": "Over 1 h and 5 min, more than 14.4 times the 1% that may miss "
            "(TTFT 2 s, TPOT 0.1 s) did. At that pace 2% of the 30-day budget go in 1 h. "
            "Most misses of the last 10 minutes: overload (7 requests).",
            "dashboard": "http://localhost:3000/d/pdscope-slo?from=now-6h&to=now&var-objective=default",
            "why": "http://localhost:3000/d/pdscope-why?from=now-1h&to=now&var-objective=default",
            "runbook_url": "https://github.com/pdscope/pdscope/blob/main/docs/runbooks/slo_burn.md",
        },
    }  # fmt: skip
    only = Objectives((Objective("default", 2.0, 0.1),))
    text = rule_file(only, Places())
    model = yaml.safe_load(text)
    for group in model["groups"]:
        group["rules"] = [
            rule for rule in group["rules"] if "record" in rule or ('sli="joint", pair="1"' in rule["expr"])
        ]
    (tmp_path / "rules.yml").write_text(dump(model))
    suite = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series(values),
                "alert_rule_test": [
                    {"eval_time": "110m", "alertname": "PdscopeBudgetBurn", "exp_alerts": [expected]}
                ],
            }
        ],
    }
    (tmp_path / "test.yml").write_text(dump(suite))
    done = promtool("test", "rules", tmp_path / "test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_thirty_days_give_the_workbooks_windows() -> None:
    found = [(duration(p.long_s), duration(p.short_s), number(p.factor), p.severity) for p in pairs(30)]
    assert found == [
        ("1h", "5m", "14.4", "page"),
        ("6h", "30m", "6", "page"),
        ("1d", "2h", "3", "ticket"),
        ("3d", "6h", "1", "ticket"),
    ]


@pytest.mark.parametrize("days", [1, 2, 7, 14, 28, 30, 90, 366])
def test_windows_of_any_period_spend_the_same_part_of_the_budget(days: int) -> None:
    for pair in pairs(days):
        spent = pair.factor * pair.long_s / (days * 86400)
        assert abs(spent - pair.spends) < Decimal("0.0001")
        assert 60 <= pair.short_s < pair.long_s <= days * 86400


def test_a_week_scales_the_windows() -> None:
    assert [(p.long_s, p.short_s) for p in pairs(7)] == [(840, 60), (5040, 420), (20160, 1680), (60480, 5040)]
    assert [number(p.factor) for p in pairs(7)] == ["14.4", "6", "3", "1"]


def test_numbers_are_written_as_people_do() -> None:
    (group,) = burn_groups(Objectives((Objective("x", 1.5, 0.04, 0.999),)), Places())
    assert group["rules"][0]["expr"].endswith("/ 0.001")
    text = rule_file(Objectives((Objective("x", 1.5, 0.04, 0.999),)), Places())
    assert "0.0010000" not in text
    assert not re.search(r"\d[eE]-?\d", text)


def test_rules_lead_to_runbooks_that_exist() -> None:
    from analyzer.verdict.vocabulary import Cause

    names = {alert.runbook for alert in ALERTS} - {"{{ $labels.cause }}"} | {"slo_burn"}
    names |= {str(cause) for cause in Cause if cause is not Cause.NONE}
    for name in names:
        assert (PROJECT / f"docs/runbooks/{name}.md").is_file(), name


def test_metrics_that_rules_and_panels_name_exist(store: object) -> None:
    """Every series is exported by the process, recorded by the rules, or Prometheus's own."""
    from prometheus_client import CollectorRegistry, generate_latest

    from analyzer.api.metrics import StoreSize
    from analyzer.export import Exporter
    from collector.receive.metrics import ReceiveMetrics
    from collector.store import Store
    from dashboards.boards import BOARDS
    from dashboards.grafana.queries import Prom
    from tests.dashboards.conftest import OBJECTIVES

    assert isinstance(store, Store)
    registry = CollectorRegistry()
    # the store's own objectives: what an exporter writes down stays for the tests that follow
    exporter = Exporter(store, registry, lambda: OBJECTIVES, lambda: store.last_sequence)
    exporter.refresh()
    ReceiveMetrics(registry)
    registry.register(StoreSize(store))
    exported = set(
        re.findall(r"^# TYPE (\S+) counter$|^# TYPE (\S+) \w+$", generate_latest(registry).decode(), re.M)
    )
    names = {a or b for a, b in exported} | {"pdscope_assembly_lag_inserts"}
    rules = yaml.safe_load(rule_file(ONE, Places()))
    recorded = {rule["record"] for group in rules["groups"] for rule in group["rules"] if "record" in rule}
    texts = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    texts += [
        q.expr for board in BOARDS for panel in board.panels for q in panel.queries if isinstance(q, Prom)
    ]
    used = {name for text in texts for name in re.findall(r"\bpdscope[_:][a-z_:]+", text)}
    used -= {"pdscope_pool_"}
    assert used <= names | recorded | {"pdscope_pool"}, used - names - recorded


def test_prometheus_parses_every_promql_of_panels(promtool: Promtool, tmp_path: Path) -> None:
    from dashboards.boards import BOARDS
    from dashboards.grafana.queries import Prom

    queries = [q for board in BOARDS for panel in board.panels for q in panel.queries if isinstance(q, Prom)]
    assert len(queries) >= 7
    rules = [
        {
            "record": f"panel:{index}",
            "expr": query.expr.replace("$__rate_interval", "1m").replace("${objective:regex}", "a|b"),
        }
        for index, query in enumerate(queries)
    ]
    check(promtool, tmp_path, dump({"groups": [{"name": "panels", "rules": rules}]}))
