"""What can be known to be wrong with settings before anything is started."""

import ssl
from collections.abc import Callable

from analyzer.slo.objectives import load_objectives
from collector.errors import ConfigError
from collector.scrape import read_scrape_config
from collector.settings import SETTINGS, Settings
from collector.store.place import place_of
from collector.tokens import Grant, Tokens, read_tokens

_SECRETS = {setting.name for setting in SETTINGS if setting.secret}


def problems_of(settings: Settings) -> list[str]:
    """Everything wrong with settings and the files they name, in words; empty when all is well."""
    checks: tuple[Callable[[], object], ...] = (
        settings.refuse_open_listeners,
        settings.refuse_lone_role,
        lambda: place_of(settings.store or str(settings.data)),
        lambda: load_objectives(settings.slo),
        lambda: refuse_unguarded_reading(settings, Tokens(settings.token, _grants(settings))),
        lambda: settings.scrape and read_scrape_config(settings.scrape),
        lambda: _tls(settings),
    )
    found = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            found.append(str(error))
    return found


def refuse_unguarded_reading(settings: Settings, tokens: Tokens) -> None:
    """Raise ConfigError when REST is reachable from elsewhere and no token is one to read with."""
    if not settings.api.loopback and not tokens.guard_reading:
        raise ConfigError(
            f"api would listen on {settings.api}, and no token in {settings.tenant_tokens} may read: set "
            "PDSCOPE_TOKEN, or add one with `pdscope token --right read`"
        )


def shown_value(name: str, settings: Settings) -> str:
    """A setting's value for people to read; secrets and passwords are left out."""
    if name in _SECRETS:
        return "(secret)"
    value = getattr(settings, name)
    if name == "store":
        try:
            return str(place_of(value))
        except ConfigError:
            return "(not a store's address)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "off" if value is None else str(value)


def _grants(settings: Settings) -> tuple[Grant, ...]:
    return tuple(read_tokens(settings.tenant_tokens)) if settings.tenant_tokens else ()


def _tls(settings: Settings) -> None:
    """Read certificate and key as a listener would. Raises ConfigError."""
    if not (settings.tls_cert and settings.tls_key):
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
        if settings.tls_client_ca:
            context.load_verify_locations(settings.tls_client_ca)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(
            str(path) for path in (settings.tls_cert, settings.tls_key, settings.tls_client_ca) if path
        )
        raise ConfigError(f"tls: {files}: {error.strerror or error}") from error
