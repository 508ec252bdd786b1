"""Which pdscope this is."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Version of the installed package; `0+unknown` where it runs from its sources alone."""
    try:
        return version("pdscope")
    except PackageNotFoundError:
        return "0+unknown"
