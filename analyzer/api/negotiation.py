"""Which format a document is wanted in: `format=` wins, then Accept, then the first one offered."""

from collections.abc import Mapping


def wanted(accept: str, offered: Mapping[str, str]) -> str:
    """Name of the offered format (name → media type) that an Accept header likes best (RFC 9110, 12.5.1).

    An equal liking goes to the format offered first; so does a header that likes none or cannot be read.
    """
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    liked = {name: _quality(media, ranges) for name, media in offered.items()}
    return max(liked, key=lambda name: liked[name])


def _range(part: str) -> tuple[str, float]:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        return media, min(max(float(quality), 0.0), 1.0)
    except ValueError:
        return media, 0.0


def _quality(media: str, ranges: list[tuple[str, float]]) -> float:
    """Quality of the most specific range that holds the media type; 0 when none does."""
    kind = media.split("/")[0]
    for pattern in (media, f"{kind}/*", "*/*"):
        found = [quality for given, quality in ranges if given == pattern]
        if found:
            return found[0]
    return 0.0
