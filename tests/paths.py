"""Where tests find the shared captures and cases."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("PDSCOPE_SHARED") or PROJECT.parent / "shared")
CAPTURES = SHARED / "captures"
CASES = SHARED / "cases"
