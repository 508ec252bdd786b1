"""Writes generated files, or says how those on disk differ from what would be written."""

from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, str]
"""Text of each file by its path below the output directory."""


def write(out: Path, files: Files) -> list[Path]:
    """Write every file; returns their paths. Files that are already the same are left untouched.

    Raises OSError.
    """
    written = []
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
        written.append(path)
    return written


def differences(out: Path, files: Files) -> list[str]:
    """Lines that name each file that is missing or different."""
    found = []
    for name, text in files.items():
        path = out / name
        if not path.exists():
            found.append(f"{path}: missing")
        elif path.read_text("utf-8") != text:
            found.append(f"{path}: differs")
    return found
