"""docker-compose.yml as Docker would read it: variables put in, services of a profile."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.paths import PROJECT

FILE = PROJECT / "docker-compose.yml"
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")

Service = dict[str, Any]


def raw() -> dict[str, Any]:
    """The file with its merges done and its variables left as they are."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return found


def variables() -> dict[str, str]:
    """Variables the file asks for: '?' when one must be given, '-' when it has a default, '' for neither."""
    return {name: kind for name, kind, _ in _VARIABLE.findall(FILE.read_text("utf-8"))}


def services(profile: str, environ: Mapping[str, str]) -> dict[str, Service]:
    """The services of a profile, with variables put in. Raises KeyError when a needed one is not given."""
    return {
        name: _filled(service, environ)
        for name, service in raw()["services"].items()
        if profile in service["profiles"]
    }


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, environ) for item in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _value(found, environ), value)
    return value


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    given = environ.get(found[1], "")
    if not given and found[2] == "?":
        raise KeyError(f"{found[1]}: {found[3]}")
    return given or (found[3] if found[2] == "-" else "")
