"""How the page's files go over the wire, without a browser."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from analyzer.web.assets import AssetSet
from analyzer.web.serve import STATIC

OWN_FILES = sorted(p for p in STATIC.rglob("*") if p.is_file() and "vendor" not in p.parts)


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, follow_redirects=True) as client:
        yield client


def linked(client: httpx.Client) -> list[str]:
    return re.findall(r'(?:href|src)="(assets/[^"]+)"', client.get("/").text)


def test_the_entry_page_is_html_that_is_revalidated_on_each_visit(client: httpx.Client) -> None:
    first = client.get("/")
    again = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


def test_head_says_what_get_would(client: httpx.Client) -> None:
    head, full = client.head("/"), client.get("/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == full.headers["etag"]


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(client: httpx.Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    directives = dict(d.split(" ", 1) for d in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert {directives[d] for d in ("script-src", "style-src", "connect-src", "img-src")} == {"'self'"}
    assert "unsafe" not in policy


def test_the_entry_page_has_no_inline_script_style_or_handler() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page)


def test_everything_the_entry_page_links_is_there_with_its_type_for_ever(client: httpx.Client) -> None:
    types = {
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
    }
    assert len(linked(client)) >= 7
    for address in linked(client):
        answer = client.get(f"/{address}")
        assert answer.status_code == 200, address
        assert answer.headers["content-type"] == types[Path(address).suffix]
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_module_imports_only_files_that_exist() -> None:
    for source in STATIC.rglob("*.js"):
        for target in re.findall(r"from '(\.[^']+)'", source.read_text()):
            assert (source.parent / target).resolve().is_file(), f"{source.name} imports {target}"


def test_gzip_is_sent_only_to_who_takes_it(client: httpx.Client) -> None:
    address = next(a for a in linked(client) if a.endswith("page.css"))
    plain = client.get(f"/{address}", headers={"accept-encoding": "identity"})
    with client.stream("GET", f"/{address}", headers={"accept-encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content)


@pytest.mark.parametrize(
    "name", ["js/none.js", "../serve.py", "..%2f..%2fserve.py", "index.html", "js", "/etc/passwd"]
)
def test_nothing_but_the_assets_is_served(client: httpx.Client, name: str) -> None:
    version = linked(client)[0].split("/")[1]
    assert client.get(f"/assets/{version}/{name}").status_code == 404


def test_an_old_version_is_not_answered_with_new_files(client: httpx.Client) -> None:
    assert client.get("/assets/000000000000/js/main.js").status_code == 404


def test_the_page_stays_out_of_the_openapi_document(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths
    assert all(path.startswith("/api/v1/") for path in paths)


def test_no_own_file_names_another_host() -> None:
    allowed = {"http://www.w3.org/2000/svg"}
    for path in OWN_FILES:
        assert set(re.findall(r"https?://[^\s'\"`)<]+", path.read_text())) <= allowed, path


def test_vendored_files_come_with_their_licence() -> None:
    folders = [p for p in (STATIC / "vendor").iterdir() if p.is_dir()]
    assert folders
    for folder in folders:
        assert "Permission is hereby granted" in (folder / "LICENSE").read_text()


def test_any_change_of_any_file_changes_the_version(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("a{}")
    (tmp_path / "b.js").write_text("1")
    before = AssetSet.read(tmp_path).version
    (tmp_path / "b.js").write_text("2")
    after = AssetSet.read(tmp_path).version
    (tmp_path / "b.js").rename(tmp_path / "c.js")
    assert len({before, after, AssetSet.read(tmp_path).version}) == 3


def test_a_file_of_unknown_type_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "logo.bmp").write_bytes(b"BM")
    with pytest.raises(ValueError, match=r"logo\.bmp: no media type for suffix '\.bmp'"):
        AssetSet.read(tmp_path)
