"""Makes docs/settings.md of the settings table: `python -m collector.settings_page docs/settings.md`."""

import sys

from collector.generated_page import main, table
from collector.settings import SETTINGS, Setting

_HEAD = """\
# Settings

<!-- Made from collector/settings.py by `make docs`; edit there. -->

Every setting has one name, and three ways to give it. A flag wins over the environment, that over the YAML
file (`--config FILE` or `PDSCOPE_CONFIG`), that over the default. A command offers only the flags that matter
to it: `pdscope serve --help` lists those of the server. A value that can't be right is refused, naming its
setting and where it came from; an unknown key is refused with the nearest. `pdscope config check` reads all
of it, and every file that settings name, without starting anything.

"""

_TAIL = """
A secret has no flag, because every user of a machine can read command lines. A text may
come from a file: `PDSCOPE_TOKEN_FILE`, `PDSCOPE_STORE_FILE`.

```yaml
# pdscope.yaml, for `pdscope serve --config pdscope.yaml`
data: /var/lib/pdscope
api: 127.0.0.1:8080
slo: /etc/pdscope/slo.yaml
```

Objectives have a file of their own (`slo`), described in the [README](../README.md#say-what-you-promised).
The tap takes flags alone (`pdscope tap --help`). The traced KV connector runs inside vLLM and reads its own
environment variables, see [Instrumenting](instrumenting.md#the-traced-kv-connector-for-vllm).
"""

_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def render() -> str:
    """Return the page."""
    heads = ("YAML key", "flag", "environment", "default", "unit", "what it is")
    return _HEAD + table(heads, map(_row, SETTINGS)) + _TAIL


def _row(setting: Setting) -> tuple[str, ...]:
    flag = "–" if setting.secret else f"`{setting.flag}`"
    return f"`{setting.name}`", flag, f"`{setting.env}`", _default(setting), setting.unit, setting.help


def _default(setting: Setting) -> str:
    if setting.default is None:
        return "–"
    if setting.unit == "bytes" and isinstance(setting.default, int):
        for size, name in _SIZES:
            if setting.default % size == 0:
                return f"`{setting.default}` ({setting.default // size} {name})"
    return f"`{setting.default}`"


if __name__ == "__main__":
    sys.exit(main(render))
