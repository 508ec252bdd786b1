"""What the commands of `pdscope plan` share: errors, progress, the declared deployment, receipts on disk."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from analyzer.plan.deployment import Deployment, read_deployment
from analyzer.plan.errors import BadPlan, PlanError
from analyzer.plan.headline import MATRIX_COLUMNS
from analyzer.plan.requests_file import COLUMNS, SUFFIX
from analyzer.plan.verify_requests import unpacked


@contextmanager
def errors() -> Iterator[None]:
    """A planner's error is one line on stderr and exit code 2."""
    try:
        yield
    except PlanError as error:
        Console(stderr=True, soft_wrap=True).print(
            f"pdscope: {error}", style="red", markup=False, highlight=False
        )
        raise typer.Exit(2) from error


def facts_of(path: Path | None) -> tuple[Deployment, str]:
    """The declared deployment, and who declared it."""
    if path is None:
        return Deployment(), "pdscope default: Llama 3 70B BF16 on 8 x H100"
    return read_deployment(path), f"deployment file {path.name}"


@contextmanager
def progress_bar(shown: bool, what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, so that stdout stays clean."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not (shown and console.is_terminal)
    ) as bar:
        task = bar.add_task(what)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def receipt_path(path: Path) -> Path:
    """`path`, when a receipt and what lies beside it may be written there; BadPlan before anything runs."""
    if path.suffix in (".csv", ".gz"):
        raise BadPlan(f"{path}: the receipt is JSON and its matrix takes the .csv name; name it .json")
    for beside, columns in ((path.with_suffix(".csv"), MATRIX_COLUMNS), (requests_path(path), COLUMNS)):
        try:
            if beside.exists() and not unpacked(beside.read_bytes()).startswith(",".join(columns).encode()):
                raise BadPlan(f"{beside}: exists and belongs to no receipt; give the receipt another name")
        except OSError as error:
            raise BadPlan(f"{beside}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise BadPlan(f"{beside}: exists and {error}; give the receipt another name") from error
    return path


def requests_path(path: Path) -> Path:
    """Where the requests of the receipt at `path` lie."""
    return path.with_suffix(f"{SUFFIX}.gz")


def write_receipt(path: Path, receipt: dict[str, Any], matrix: str, requests: bytes | None = None) -> None:
    """The receipt at `path`, its matrix beside it as .csv, and the requests it was made from, packed."""
    files = {
        receipt_path(path): (json.dumps(receipt, indent=2, ensure_ascii=False) + "\n").encode(),
        path.with_suffix(".csv"): matrix.encode(),
    }
    if requests is not None:
        files[requests_path(path)] = requests
    try:
        for name, content in files.items():
            name.write_bytes(content)
    except OSError as error:
        raise BadPlan(f"{path}: cannot be written: {error.strerror}") from error
    Console(stderr=True).print(f"wrote {' and '.join(map(str, files))}", highlight=False)
