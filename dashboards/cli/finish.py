"""How a build ends: files written, or drift reported."""

from pathlib import Path

from analyzer.cli.errors import CommandError
from collector.errors import ConfigError
from dashboards.output import Files, differences, write


def finish(out: Path, files: Files, check: bool) -> None:
    """Write files and name them, or compare them. Raises CommandError on drift, ConfigError on a bad path."""
    if check:
        found = differences(out, files)
        if found:
            raise CommandError(f"{'; '.join(found)}: build again without --check and review the change")
        print(f"{len(files)} files in {out} are up to date")
        return
    try:
        for path in write(out, files):
            print(path)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}") from error
