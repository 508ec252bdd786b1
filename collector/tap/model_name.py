"""The model a request asks for, read from a small JSON body."""

import json

LARGEST_PARSED = 256 << 10


def model_of(body: bytes) -> str | None:
    """The top-level `model` of a JSON body up to 256 KiB, else None (the answer names the model later)."""
    if len(body) > LARGEST_PARSED:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    model = message.get("model") if isinstance(message, dict) else None
    return model[:256] if isinstance(model, str) else None
