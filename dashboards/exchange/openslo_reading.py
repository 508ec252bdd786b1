"""Reads OpenSLO v1 documents: what a file holds, and one SLO's target, period and indicator."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from collector.errors import ConfigError
from dashboards.exchange.openslo import API_VERSION

_MAX_BYTES = 1 << 20
_DAYS = {"d": 1, "w": 7, "M": 30, "Q": 90, "Y": 365}


class Unfit(Exception):
    """An SLO that means something pdscope's objectives cannot say; the message says what."""


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    where: str
    """`file, document number`, for messages."""
    kind: str
    name: str
    body: dict[str, Any]


def read_documents(path: Path) -> list[Document]:
    """All objects of a file. Raises ConfigError naming the file and the document."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ConfigError(f"{path}: larger than {_MAX_BYTES:,} bytes; this is no file of SLOs")
        found = list(yaml.safe_load_all(data.decode("utf-8")))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from error
    documents = [_document(f"{path}, document {n}", item) for n, item in enumerate(found, start=1) if item]
    if not documents:
        raise ConfigError(f"{path}: holds no document")
    return documents


def _document(where: str, item: Any) -> Document:
    if not isinstance(item, dict) or "kind" not in item:
        raise ConfigError(f"{where}: not an OpenSLO object; it has no `kind`")
    version = item.get("apiVersion")
    if version != API_VERSION:
        raise ConfigError(f"{where}: apiVersion {version!r} is not {API_VERSION!r}, the one that is read")
    name = mapping(item, "metadata").get("name")
    if not isinstance(name, str) or not name or "\0" in name:
        raise ConfigError(f"{where}: metadata.name is missing, or no text")
    return Document(where, str(item["kind"]), name, item)


def mapping(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """A member that is a mapping; empty when it is missing or something else."""
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def objective_of(spec: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The objective of an SLO's spec, and what is left out of it. Raises Unfit."""
    if spec.get("budgetingMethod") != "Occurrences":
        raise Unfit(f"budgetingMethod {spec.get('budgetingMethod')!r}: pdscope counts requests (Occurrences)")
    objectives = spec.get("objectives")
    found = [item for item in objectives if isinstance(item, dict)] if isinstance(objectives, list) else []
    if not found:
        raise Unfit("it has no objectives")
    if any("indicator" in item or "indicatorRef" in item for item in found):
        raise Unfit("composite objectives: pdscope's two limits are the only ones it joins")
    more = len(found) - 1
    said = [f"{more} further objectives are left out: one request is judged by one"] if more else []
    return found[0], said


def target_of(objective: dict[str, Any]) -> float:
    """The target as a fraction. Raises Unfit."""
    target, percent = objective.get("target"), objective.get("targetPercent")
    if target is None and isinstance(percent, int | float) and not isinstance(percent, bool):
        # no float holds every whole number that a file may
        target = round(percent / 100, 12) if percent < 100 else percent
    if not isinstance(target, int | float) or isinstance(target, bool) or not 0 < target < 1:
        raise Unfit(f"target {target!r} is no fraction between 0 and 1")
    return float(target)


def period_of(spec: dict[str, Any]) -> tuple[int, list[str]]:
    """Days of the time window, and what is said about it. Raises Unfit."""
    windows = spec.get("timeWindow")
    if not isinstance(windows, list) or not windows or not isinstance(windows[0], dict):
        return 30, ["it has no timeWindow; 30 days are taken"]
    text = str(windows[0].get("duration"))
    matched = re.fullmatch(r"([1-9][0-9]{0,5})([mhdwMQY])", text)
    if not matched:
        raise Unfit(f"timeWindow.duration {text!r} is no OpenSLO duration such as 30d")
    count, unit = int(matched[1]), matched[2]
    said = [] if windows[0].get("isRolling") else ["its calendar window is read as a rolling one"]
    if unit in "mh":
        minutes = count * (60 if unit == "h" else 1)
        days, rest = divmod(minutes, 1440)
        if rest or not days:
            raise Unfit(f"timeWindow.duration {text!r}: pdscope's periods are whole days")
    else:
        days = count * _DAYS[unit]
    if unit in "MQY":
        said.append(f"{text} is read as {days} days")
    if days > 366:
        raise Unfit(f"timeWindow.duration {text!r}: at most 366 days are supported")
    return days, said
