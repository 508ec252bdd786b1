"""Who may send, and whose it then is."""

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import httpx
import pytest
import trustme
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import CollectorRegistry

from collector.errors import ConfigError
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.access import Access
from collector.receive.check import check_metrics, check_traces
from collector.receive.errors import Unauthorized
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.receive.settings import Tls
from collector.store import Store
from collector.tokens import Grant, Right, Tokens, new_token, read_tokens
from tests.receive.bodies import body, export, unique_name
from tests.signals.otlp import body as metrics_body

PROTOBUF = {"content-type": "application/x-protobuf"}


def test_a_tenants_token_names_the_tenant_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    token, hashed = new_token()
    other, other_hash = new_token()
    file = tmp_path / "tokens.yaml"
    file.write_text(f"acme: {hashed}\nglobex: [{other_hash}, {new_token()[1]}]\n")
    assert token not in file.read_text()
    access = Access(Tokens("operator", read_tokens(file)))
    assert access.sender(f"Bearer {token}".encode(), "a").tenant == "acme"
    assert access.sender(f"bearer  {other} ".encode(), "a").tenant == "globex"
    assert access.sender(b"Bearer operator", "a").tenant is None
    for wrong in (b"", b"Bearer", b"Bearer x", f"Basic {token}".encode(), hashed.encode(), b"\xff\xfe x"):
        with pytest.raises(Unauthorized):
            access.sender(wrong, "a")


def test_without_any_token_everyone_may_send() -> None:
    assert Access().sender(b"", "10.0.0.1").tenant is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a mapping"),
        ("- a", "expected a mapping"),
        ("acme: secret-token-itself", "expected sha256:"),
        ("acme: sha256:12", "expected sha256:"),
        ("acme: sha256:" + "g" * 64, "expected sha256:"),
        ("acme: []", "no token hash"),
        (f"{'x' * 129}: sha256:" + "0" * 64, "1 to 128"),
    ],
)
def test_a_tokens_file_that_is_wrong_is_refused_naming_the_line_not_the_value(
    tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=rf"tokens\.yaml:1: .*{why}") as error:
        read_tokens(file)
    assert "secret-token-itself" not in str(error.value)


def _tenants(stamped: bytes) -> list[list[str]]:
    message = ExportTraceServiceRequest.FromString(stamped)
    return [
        [a.value.string_value for a in sent.resource.attributes if a.key == "pd.tenant"]
        for sent in message.resource_spans
    ]


def test_every_resource_is_stamped_and_what_the_sender_claims_is_replaced() -> None:
    request = export("one")
    request.resource_spans.add().scope_spans.add().spans.add()
    for _ in range(2):
        claim = request.resource_spans[0].resource.attributes.add(key="pd.tenant")
        claim.value.string_value = "someone-else"
    stamped, spans = check_traces(request.SerializeToString(), "acme")
    assert spans == 2
    assert _tenants(stamped) == [["acme"], ["acme"]]
    assert _tenants(check_traces(request.SerializeToString())[0]) == [["someone-else"] * 2, []]


def test_metrics_are_stamped_too() -> None:
    stamped, _ = check_metrics(metrics_body("w-1"), "acme")
    assert b"pd.tenant" in stamped
    assert b"acme" in stamped


@pytest.fixture
def guarded(store: Store) -> Iterator[tuple[OtlpReceiver, str]]:
    token, hashed = new_token()
    digest = bytes.fromhex(hashed.removeprefix("sha256:"))
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0)
    running = OtlpReceiver(
        store,
        settings,
        CollectorRegistry(),
        access=Access(Tokens(None, [Grant(digest, Right.INGEST, "acme")])),
    )
    running.start()
    yield running, token
    running.stop(grace=1)


def test_both_listeners_take_a_token_and_nothing_else(
    guarded: tuple[OtlpReceiver, str], store: Store, stored: Callable[[str], int]
) -> None:
    receiver, token = guarded
    name = unique_name()
    url = f"http://127.0.0.1:{receiver.http_port}/v1/traces"
    refused = httpx.post(url, content=body(name), headers=PROTOBUF)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    let_in = {"authorization": f"Bearer {token}"}
    assert httpx.post(url, content=body(name), headers=PROTOBUF | let_in).status_code == 200
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        with pytest.raises(grpc.RpcError) as error:
            call(body(name), timeout=30)
        assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
        call(body(name), timeout=30, metadata=tuple(let_in.items()))
    assert stored(name) == 2
    assert store.query(
        "SELECT DISTINCT attrs['pd.tenant'] FROM resources "
        "WHERE resource_id IN (SELECT resource_id FROM spans WHERE name = {name:String})",
        {"name": name},
    ) == [("acme",)]


def test_the_time_a_token_takes_does_not_tell_how_much_of_it_was_right() -> None:
    """Compared are digests: a token that is almost right has one that is not like it at all."""
    token, hashed = new_token()
    almost = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert hashlib.sha256(almost.encode()).hexdigest()[:8] != hashed.removeprefix("sha256:")[:8]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def tls_files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("tls")
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client@example.org")
    files = {name: directory / f"{name}.pem" for name in ("ca", "cert", "key", "client_cert", "client_key")}
    authority.cert_pem.write_to_path(files["ca"])
    server.cert_chain_pems[0].write_to_path(files["cert"])
    server.private_key_pem.write_to_path(files["key"])
    client.cert_chain_pems[0].write_to_path(files["client_cert"])
    client.private_key_pem.write_to_path(files["client_key"])
    return files


@pytest.fixture(params=[False, True], ids=["tls", "mutual"])
def over_tls(
    store: Store, tls_files: dict[str, Path], request: pytest.FixtureRequest
) -> Iterator[tuple[OtlpReceiver, bool]]:
    tls = Tls(tls_files["cert"], tls_files["key"], tls_files["ca"] if request.param else None)
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, tls=tls)
    running = OtlpReceiver(store, settings, CollectorRegistry())
    running.start()
    yield running, request.param
    running.stop(grace=1)


def test_tls_and_mutual_tls_on_both_listeners(
    over_tls: tuple[OtlpReceiver, bool], tls_files: dict[str, Path], stored: Callable[[str], int]
) -> None:
    receiver, mutual = over_tls
    name = unique_name()
    roots = tls_files["ca"].read_bytes()
    own = (tls_files["client_key"].read_bytes(), tls_files["client_cert"].read_bytes())

    def over_grpc(credentials: grpc.ChannelCredentials) -> None:
        with grpc.secure_channel(f"127.0.0.1:{receiver.grpc_port}", credentials) as channel:
            channel.unary_unary(f"/{TRACE_SERVICE}/Export")(body(name), timeout=5)

    def over_http(**certificate: object) -> None:
        url = f"https://127.0.0.1:{receiver.http_port}/v1/traces"
        import ssl

        context = ssl.create_default_context(cafile=str(tls_files["ca"]))
        if certificate:
            context.load_cert_chain(tls_files["client_cert"], tls_files["client_key"])
        httpx.post(url, content=body(name), headers=PROTOBUF, verify=context).raise_for_status()

    over_grpc(grpc.ssl_channel_credentials(roots, *own))
    over_http(certificate=True)
    assert stored(name) == 2
    if mutual:
        with pytest.raises(grpc.RpcError):
            over_grpc(grpc.ssl_channel_credentials(roots))
        with pytest.raises(httpx.TransportError):
            over_http()
        assert stored(name) == 2
    else:
        over_grpc(grpc.ssl_channel_credentials(roots))
        over_http()
        assert stored(name) == 4


def test_a_tls_file_that_is_missing_is_named(store: Store, tmp_path: Path) -> None:
    tls = Tls(tmp_path / "no.pem", tmp_path / "no.key")
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", tls=tls)
    with pytest.raises(ConfigError, match=r"no\.(pem|key)"):
        OtlpReceiver(store, settings, CollectorRegistry()).start()
    time.sleep(0)
