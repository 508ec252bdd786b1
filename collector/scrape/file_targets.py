"""Targets from files in the format of Prometheus' file_sd (JSON or YAML), read again when they change."""

import glob
from collections.abc import Iterable
from pathlib import Path

import yaml

from collector.errors import ConfigError
from collector.scrape.config import Job
from collector.scrape.target import Target

_MAX_BYTES = 4 << 20


class TargetFiles:
    """The files of one job."""

    def __init__(self, job: Job):
        self._job = job
        self._seen: dict[str, tuple[int, int]] = {}
        self._targets: dict[str, tuple[Target, ...]] = {}

    def changed(self) -> list[Target] | None:
        """All targets when a file changed, came or went; None when nothing did.

        Raises ConfigError when a file can't be read or is no such file; what it said before then stays.
        """
        found = {name: stamp for name in self._names() if (stamp := _stamp(name)) is not None}
        if found == self._seen:
            return None
        self._targets = {name: kept for name, kept in self._targets.items() if name in found}
        changed = [name for name, stamp in found.items() if self._seen.get(name) != stamp]
        self._seen = found
        broken = []
        for name in changed:
            try:
                self._targets[name] = tuple(read(Path(name), self._job))
            except ConfigError as error:
                broken.append(str(error))
        if broken:
            raise ConfigError("; ".join(broken))
        return self.targets

    @property
    def targets(self) -> list[Target]:
        """All targets as last read."""
        return [target for kept in self._targets.values() for target in kept]

    def _names(self) -> list[str]:
        return sorted({name for pattern in self._job.files for name in glob.glob(pattern)})


def read(path: Path, job: Job) -> Iterable[Target]:
    """Targets of one file. Raises ConfigError naming it."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        # JSON is YAML.
        groups = yaml.safe_load(data) if len(data) <= _MAX_BYTES else None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: neither JSON nor YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(groups, list):
        raise ConfigError(f'{path}: expected a list of {{"targets": […], "labels": {{…}}}}')
    return [
        target
        for number, group in enumerate(groups)
        for target in _group(group, job, f"{path}, group {number + 1}")
    ]


def _group(group: object, job: Job, where: str) -> list[Target]:
    if not isinstance(group, dict) or not isinstance(group.get("targets"), list):
        raise ConfigError(f"{where}: expected targets, a list of HOST:PORT")
    labels = {} if group.get("labels") is None else group["labels"]
    if not isinstance(labels, dict):
        raise ConfigError(f"{where}: labels must be a mapping")
    try:
        return [
            job.target(str(address), {str(k): str(v) for k, v in labels.items()})
            for address in group["targets"]
        ]
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _stamp(name: str) -> tuple[int, int] | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
