"""`pdscope migrate` shows what it would do, and does it only when told."""

from pathlib import Path

from tests.cli.conftest import Run


def test_it_shows_the_sql_then_applies_it(pdscope: Run, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    shown = pdscope("migrate", "--data", data)
    assert shown.returncode == 0, shown.stderr
    assert "-- 0001 spans" in shown.stdout
    assert "CREATE TABLE spans" in shown.stdout
    assert "to apply; run again with --apply" in shown.stdout
    assert "applied" in pdscope("migrate", "--data", data, "--apply").stdout
    assert pdscope("migrate", "--data", data).stdout == "-- the store has this release's schema\n"


def test_a_server_that_is_not_there_is_named_without_its_password(pdscope: Run) -> None:
    failed = pdscope("migrate", "--store", "clickhouse://u:hidden@127.0.0.1:1/d")
    assert failed.returncode == 2
    assert "cannot reach the store at clickhouse://127.0.0.1:1/d" in failed.stderr
    assert "hidden" not in failed.stderr + failed.stdout
