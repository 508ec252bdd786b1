"""Mounts the page on the REST application: `/` and `/assets/<version>/…`.

The version in the path is a digest of all assets, so they may be cached for ever while `/` itself is
revalidated on each visit; an upgrade can never mix old and new modules.
"""

from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException, Response

from analyzer.web.assets import Asset, AssetSet

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
VERSION_MARK = b"ASSETS_VERSION"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Only our own files and our own REST; nothing inline, so stored text can't become script."""

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
REVALIDATE = "no-cache"
FOR_EVER = "public, max-age=31536000, immutable"


def mount(app: FastAPI) -> None:
    """Serve the page from `app`; the routes stay out of the OpenAPI document, which describes REST alone."""
    assets = AssetSet.read(STATIC)
    index = _index_of(assets)

    def page(
        if_none_match: Annotated[str | None, Header()] = None,
        accept_encoding: Annotated[str, Header()] = "",
    ) -> Response:
        return _respond(index, REVALIDATE, if_none_match, accept_encoding)

    def asset(
        version: str,
        name: str,
        if_none_match: Annotated[str | None, Header()] = None,
        accept_encoding: Annotated[str, Header()] = "",
    ) -> Response:
        found = assets.files.get(name)
        if version != assets.version or found is None or name == INDEX:
            raise HTTPException(404, f"no asset {name!r} of version {version!r}; reload the page")
        return _respond(found, FOR_EVER, if_none_match, accept_encoding)

    app.add_api_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route(
        "/assets/{version}/{name:path}", asset, methods=["GET", "HEAD"], include_in_schema=False
    )


def _index_of(assets: AssetSet) -> Asset:
    """The entry page with its asset addresses made to carry the version."""
    source = assets.files[INDEX]
    return Asset.of(source.body.replace(VERSION_MARK, assets.version.encode()), source.media_type)


def _respond(asset: Asset, caching: str, if_none_match: str | None, accept_encoding: str) -> Response:
    headers = {**SECURITY_HEADERS, "ETag": asset.etag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
    if if_none_match is not None and asset.etag in if_none_match:
        return Response(status_code=304, headers=headers)
    if asset.gzipped is not None and "gzip" in accept_encoding:
        headers["Content-Encoding"] = "gzip"
        return Response(asset.gzipped, media_type=asset.media_type, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)
