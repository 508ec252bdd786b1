"""The page's files, read once: body, gzip form, media type and one version for the whole set."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
"""By suffix. Explicit, because mimetypes reads the host's registry and may call a module text/plain."""

SMALLEST_GZIP_BYTES = 1024


@dataclass(frozen=True)
class Asset:
    """One file as it goes over the wire; `gzipped` is None where compression would not pay."""

    body: bytes
    gzipped: bytes | None
    media_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, media_type: str) -> "Asset":
        """Compress `body` and tag it by its content."""
        worth_it = len(body) >= SMALLEST_GZIP_BYTES
        return cls(
            body=body,
            gzipped=gzip.compress(body, mtime=0) if worth_it else None,
            media_type=media_type,
            etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        )


@dataclass(frozen=True)
class AssetSet:
    """Every file under one folder by its relative path, and a version that changes when any of them does."""

    version: str
    files: Mapping[str, Asset]

    @classmethod
    def read(cls, folder: Path) -> "AssetSet":
        """Read `folder` into memory.

        Raises ValueError for a suffix without media type: the file would be served as what it is not.
        """
        files: dict[str, Asset] = {}
        digest = hashlib.sha256()
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = path.relative_to(folder).as_posix()
            if path.suffix not in MEDIA_TYPES:
                raise ValueError(f"{path}: no media type for suffix {path.suffix!r}; add it to MEDIA_TYPES")
            files[name] = Asset.of(path.read_bytes(), MEDIA_TYPES[path.suffix])
            digest.update(name.encode() + b"\0" + files[name].etag.encode())
        return cls(version=digest.hexdigest()[:12], files=files)
