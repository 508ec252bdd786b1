"""A store that an earlier release wrote opens, migrates, and answers as it did."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from collector.store import Store, migrate
from tests.paths import PROJECT
from tests.upgrade.released_store import RELEASED, answers, opened, unpack

VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in RELEASED.glob("*.tar.xz"))


def schema(store: Store) -> dict[str, str]:
    """Every table and view as it would be made again."""
    sql = "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase()"
    return {str(name): str(query) for name, query in store.query(sql)}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    store = Store.open(tmp_path_factory.mktemp("fresh") / "data")
    found = schema(store)
    store.close()
    return found


def test_there_is_a_store_of_every_release() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert version in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_it_answers_the_same(version: str, tmp_path: Path) -> None:
    expected = json.loads((RELEASED / f"{version}.json").read_text("utf-8"))
    assert len(expected["requests"]) > 5
    with opened(unpack(version, tmp_path)) as process:
        assert answers(process) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_it_takes_the_schema_of_this_release(version: str, tmp_path: Path, fresh: dict[str, str]) -> None:
    """A difference here means that a migration was changed after stores were made by it: add one instead."""
    store = Store.open(unpack(version, tmp_path))
    assert schema(store) == fresh
    store.close()


@pytest.mark.parametrize("lacking", [1, 20])
def test_a_store_in_the_middle_of_the_way_is_brought_on(
    lacking: int, tmp_path: Path, fresh: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    early = tmp_path / "migrations"
    early.mkdir()
    for path in sorted(migrate.MIGRATIONS.glob("*.sql"))[:-lacking]:
        shutil.copy(path, early)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "MIGRATIONS", early)
        # What the store does beyond migrating may need tables that are not there yet.
        from collector.store.maintenance import Maintenance

        with Maintenance(str(tmp_path / "data")) as store:
            assert store.migrate(allow_destructive=False) == len(list(early.iterdir()))
    with Maintenance(str(tmp_path / "data")) as store:
        assert len(store.pending()) == lacking
    store = Store.open(tmp_path / "data")
    assert schema(store) == fresh
    store.close()


def test_a_store_of_a_newer_release_is_refused_by_every_command(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from analyzer.cli.main import app
    from collector.errors import StoreTooNew

    data = unpack(VERSIONS[-1], tmp_path)
    store = Store.open(data)
    store.insert("schema_migrations", [[9999, "from_the_future"]], ["number", "name"])
    store.close()
    for command in (["migrate"], ["serve", "--api", "127.0.0.1:0"], ["report"]):
        done = CliRunner().invoke(app, [*command, "--data", str(data)])
        assert isinstance(done.exception, StoreTooNew), (command, done.output)
        assert "schema 9999" in str(done.exception)
        assert "upgrade pdscope, or open another data directory" in str(done.exception)
