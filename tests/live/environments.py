"""The environment that a serving system's processes get."""

import os
from pathlib import Path

from tests.live.set_up import System

LEADS_ELSEWHERE = ("PDSCOPE_", "OTEL_", "PYTHON", "VLLM_", "DYN_", "UCX_")


def bare(folder: Path, system: System) -> dict[str, str]:
    """The caller's, without what would lead a serving system elsewhere, offline, with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEADS_ELSEWHERE)}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PATH": f"{system.folder / 'bin'}:{kept.get('PATH', '')}",
    }
