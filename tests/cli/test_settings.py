"""One table of settings, four sources."""

from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.settings import SETTINGS, Address, Settings, resolve


def test_the_table_and_the_record_are_in_step() -> None:
    defaults = vars(resolve({}, {}))
    assert [setting.name for setting in SETTINGS] == list(defaults)
    from_table = resolve({s.name: str(s.default) for s in SETTINGS if s.default is not None}, {})
    assert from_table == Settings()


def test_a_flag_wins_over_the_environment_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pdscope.yaml"
    file.write_text("api: 127.0.0.1:1\notlp_grpc: 127.0.0.1:2\nquery_threads: 3\n")
    environ = {"PDSCOPE_API": "127.0.0.1:4", "PDSCOPE_OTLP_GRPC": "127.0.0.1:5", "PDSCOPE_SLO": ""}
    settings = resolve({"api": "127.0.0.1:6", "slo": None}, environ, file)
    assert (settings.api.port, settings.otlp_grpc.port, settings.query_threads) == (6, 5, 3)
    assert settings.slo is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:1", Address("localhost", 1)),
        ("[::1]:0", Address("::1", 0)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert resolve({"api": text}, {}).api == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["8080", ":8080", "host", "host:", "host:99999", "host:-1", "host:٣", "host:1.5"]
)
def test_what_is_no_address_is_refused_with_its_source(text: str) -> None:
    with pytest.raises(ConfigError, match="PDSCOPE_API: expected HOST:PORT"):
        resolve({}, {"PDSCOPE_API": text})


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "9" * 30])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--query-threads"):
        resolve({"query_threads": text}, {})


def test_an_unknown_key_is_refused_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "pdscope.yaml"
    file.write_text("data: x\notlp_gprc: 127.0.0.1:1\n")
    with pytest.raises(ConfigError, match=r"pdscope\.yaml:2.*'otlp_gprc'.*did you mean 'otlp_grpc'"):
        resolve({}, {}, file)


def test_other_variables_of_the_same_prefix_are_let_be() -> None:
    assert (
        resolve({}, {"PDSCOPE_SERVICE_HOST": "10.0.0.1", "PDSCOPE_PORT": "tcp://10.0.0.1:80"}) == Settings()
    )


@pytest.mark.parametrize("listener", ["api", "otlp_grpc", "otlp_http"])
def test_listening_beyond_loopback_needs_a_token(listener: str) -> None:
    with pytest.raises(ConfigError, match=f"{listener}.*PDSCOPE_TOKEN"):
        resolve({listener: "0.0.0.0:1"}, {}).refuse_open_listeners()
    resolve({listener: "0.0.0.0:1"}, {"PDSCOPE_TOKEN": "secret"}).refuse_open_listeners()
    resolve({listener: "127.0.0.2:1"}, {}).refuse_open_listeners()
