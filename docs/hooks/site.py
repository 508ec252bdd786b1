"""What the site needs beyond the Markdown files, which are written to be read in the repository as well."""

import re
from pathlib import Path
from typing import Any

TO_COME = ("slo.md", "verdicts.md", "accuracy.md", "live-runs.md")
"""Pages with a place in the navigation that may not be written yet."""

_OUTSIDE = re.compile(r"\]\((?:\.\./)+(?!/)([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Leave out of the navigation what is still to come."""
    folder = Path(config["docs_dir"])
    missing = {page for page in TO_COME if not (folder / page).exists()}
    config["nav"] = _without(config["nav"], missing)
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links out of docs/ lead to the repository; links between documents stay."""
    depth = page.file.src_uri.count("/")

    def outside(found: re.Match[str]) -> str:
        ups = found[0].count("../")
        return f"]({config['repo_url']}/blob/main/{found[1]})" if ups > depth else found[0]

    return _OUTSIDE.sub(outside, markdown)


def _without(items: list[Any], missing: set[str]) -> list[Any]:
    kept = []
    for item in items:
        ((title, target),) = item.items()
        if isinstance(target, list):
            kept.append({title: _without(target, missing)})
        elif target not in missing:
            kept.append(item)
    return kept
