"""Runs a profile of docker-compose.yml without Docker: the same commands, settings and files, on free ports.

What a container would bring is put in its place: names of services become loopback addresses, volumes become
directories, secrets become files. ClickHouse is the embedded engine behind HTTP, scrapes and
alerts come every second. Grafana is not run.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.dashboards.programs import Program, free_port, started, wait_for
from tests.deploy.compose_file import Service, services
from tests.paths import PROJECT

SECRETS = {
    "PDSCOPE_TOKEN": "token-of-the-test",
    "CLICKHOUSE_PASSWORD": "clickhouse-of-the-test",
    "CLICKHOUSE_GRAFANA_PASSWORD": "reader-of-the-test",
    "GRAFANA_ADMIN_PASSWORD": "admin-of-the-test",
}
_PORTS = {"pdscope": (8080, 4317, 4318, 8123, 9098), "prometheus": (9090,), "alertmanager": (9093,)}
_PROGRAMS = {"prometheus": "prometheus", "alertmanager": "prometheus-alertmanager"}


class Native:
    """A running profile. `ports` maps (service, the port inside its container) to the port it has here."""

    def __init__(
        self,
        profile: str,
        folder: Path,
        more: Mapping[str, Sequence[str]] | None = None,
        environ: Mapping[str, str] | None = None,
    ):
        """more: words to add to the command of a service, by its name.

        environ: what `.env` says beside secrets.
        """
        self.services = services(profile, {**SECRETS, **(environ or {})})
        self._more = more or {}
        self.programs: dict[str, Program] = {}
        self.ports: dict[tuple[str, int], int] = {}
        self.folder = folder
        self._names = {name: name for name in self.services}
        for name, service in self.services.items():
            networks = service.get("networks")
            aliases = networks["default"]["aliases"] if isinstance(networks, dict) else []
            self._names |= dict.fromkeys(aliases, name)
            for port in _PORTS.get(_kind(service), ()):
                self.ports[name, port] = free_port()

    def url(self, name: str, port: int) -> str:
        """Base address of a service's port."""
        return f"http://127.0.0.1:{self.ports[self._names[name], port]}"

    def get(self, name: str, port: int, path: str) -> httpx.Response:
        """Ask a service, with the token."""
        headers = {"Authorization": f"Bearer {SECRETS['PDSCOPE_TOKEN']}"}
        return httpx.get(self.url(name, port) + path, headers=headers, timeout=30)

    def start(self, stack: ExitStack) -> None:
        """Start every service once what it depends on has; what runs to its end is waited for."""
        waiting = dict(self.services)
        while waiting:
            name = next(name for name, service in waiting.items() if not waiting.keys() & _needs(service))
            service = waiting.pop(name)
            if _kind(service) == "grafana":
                continue
            if _kind(service) == "clickhouse":
                self._start_clickhouse(name, stack)
            elif service.get("restart") == "no":
                self._run_to_its_end(name, service)
            else:
                command, env = self._command(name, service)
                self.programs[name] = stack.enter_context(started(*command, cwd=self.folder, env=env))

    def healthy(self, name: str) -> bool:
        """Run the health check of a pdscope service, or that of the image, as Docker would."""
        service = self.services[name]
        test = service["healthcheck"]["test"][1:] if "healthcheck" in service else _image_health_check()
        assert test[0] == "python", "other images' checks use programs of theirs"
        done = subprocess.run([sys.executable, *(self._here(part, name) for part in test[1:])], check=False)
        return done.returncode == 0

    def _start_clickhouse(self, name: str, stack: ExitStack) -> None:
        """Three nodes of a cluster are one engine here, started once."""
        first = next(
            (found for found, port in self.ports if port == 8123 and found.startswith("click")), None
        )
        if first is None:
            program = stack.enter_context(
                started(sys.executable, "-m", "tests.store.inserting_server", self.folder / "clickhouse")
            )
            self.ports[name, 8123] = int(wait_for(lambda: program.lines, 180)[0])
        else:
            self.ports[name, 8123] = self.ports[first, 8123]

    def _run_to_its_end(self, name: str, service: Service) -> None:
        command, env = self._command(name, service)
        with started(*command, cwd=self.folder, env=env) as program:
            assert program.process.wait(timeout=180) == 0, (name, program.lines[-5:])

    def _command(self, name: str, service: Service) -> tuple[list[str], dict[str, str]]:
        paths = self._paths(name, service)
        words = [_placed(self._here(word, name), paths) for word in service["command"]]
        words += self._more.get(name, ())
        env = {
            key: _placed(self._here(str(value), name), paths)
            for key, value in service.get("environment", {}).items()
        }
        if _kind(service) == "pdscope":
            env.setdefault("PDSCOPE_DATA", paths.get("/var/lib/pdscope", str(self.folder / name)))
            return [sys.executable, "-m", "analyzer.cli.main", *words], env
        port = self.ports[name, _PORTS[_kind(service)][0]]
        program = shutil.which(_PROGRAMS[_kind(service)])
        assert program, "run tests/install-prometheus.sh"
        return [program, *words, f"--web.listen-address=127.0.0.1:{port}"], env

    def _paths(self, name: str, service: Service) -> dict[str, str]:
        """Where a container's paths are here, longest first; files are copied, addresses changed."""
        paths = {f"/run/secrets/{secret}": self._secret(secret) for secret in service.get("secrets", ())}
        mounts = [volume.split(":")[:2] for volume in service.get("volumes", ())]
        for source, target in mounts:
            if not source.startswith("./"):
                (self.folder / source).mkdir(exist_ok=True)
                paths[target] = str(self.folder / source)
            elif (PROJECT / source).is_dir():
                # Once: what a test puts there, or changes meanwhile, stays.
                if not (self.folder / source).exists():
                    shutil.copytree(PROJECT / source, self.folder / source)
                paths[target] = str(self.folder / source)
        for source, target in mounts:
            if source.startswith("./") and (PROJECT / source).is_file():
                file = self.folder / f"{name}-{Path(source).name}"
                text = self._here((PROJECT / source).read_text("utf-8"), name)
                file.write_text(_placed(_impatient(text), paths))
                paths[target] = str(file)
        return dict(sorted(paths.items(), key=lambda item: -len(item[0])))

    def _secret(self, name: str) -> str:
        file = self.folder / f"secret-{name}"
        file.write_text(SECRETS[name.upper()])
        return str(file)

    def _here(self, text: str, name: str) -> str:
        """Put the ports of this run in for those of the containers."""
        # An embedded engine is no cluster: the schema's other form can only be parsed (tests/store).
        text = text.replace("clickhouse+cluster://", "clickhouse://").removesuffix("?cluster=pdscope")
        text = re.sub(
            r"\b(?:0\.0\.0\.0|127\.0\.0\.1):(\d+)\b",
            lambda found: f"127.0.0.1:{self.ports.get((name, int(found[1])), found[1])}",
            text,
        )
        return re.sub(r"(?<=[/@\"])([a-z][\w-]*):(\d+)\b", self._address, text)

    def _address(self, found: re.Match[str]) -> str:
        port = self.ports.get((self._names.get(found[1], ""), int(found[2])))
        return f"127.0.0.1:{port}" if port else found[0]


@contextmanager
def running(
    profile: str,
    folder: Path,
    more: Mapping[str, Sequence[str]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Native]:
    """Run a profile until the block ends."""
    native = Native(profile, folder, more, environ)
    with ExitStack() as stack:
        native.start(stack)
        yield native


def _kind(service: Mapping[str, Any]) -> str:
    return str(service["image"].split(":")[0].split("/")[-1].removesuffix("-server"))


def _needs(service: Service) -> set[str]:
    return set(service.get("depends_on", ()))


def _placed(text: str, paths: Mapping[str, str]) -> str:
    """Put this machine's paths in for a container's, each once."""
    if not paths:
        return text
    known = "|".join(map(re.escape, paths))
    return re.sub(rf"(?<![\w/.-])({known})(?![\w-])", lambda found: paths[found[1]], text)


def _impatient(text: str) -> str:
    """A configuration whose intervals are a test's."""
    return re.sub(r"\b(scrape_interval|evaluation_interval|group_wait): \d+s", r"\1: 1s", text)


def _image_health_check() -> list[str]:
    text = (PROJECT / "deploy/Dockerfile").read_text("utf-8")
    found = re.search(r"HEALTHCHECK.*?CMD (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    assert found
    words: list[str] = json.loads(found[1])
    return words
