"""Numbers as people read them; a missing one is a dash."""


def duration(seconds: float | None) -> str:
    """Seconds with a unit that suits their size."""
    if seconds is None:
        return "–"
    if seconds == 0:
        return "0"
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"


def fraction(value: float | None) -> str:
    """A fraction as per cent."""
    return "–" if value is None else f"{value * 100:.4g}%"


def size(count: int) -> str:
    """Bytes."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"
