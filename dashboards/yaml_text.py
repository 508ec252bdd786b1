"""YAML as people write it: members in the order given, long texts unbroken, decimals without noise."""

from decimal import Decimal
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _decimal(dumper: yaml.SafeDumper, value: Decimal) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", number(value))


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(Decimal, _decimal)
_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """Return the value as YAML."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return text


def number(value: Decimal | float | int) -> str:
    """A number in plain decimals: 0.001, 14.4, 6."""
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    text = format(exact.normalize(), "f")
    return "0" if text == "-0" else text
