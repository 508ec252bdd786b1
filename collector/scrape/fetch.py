"""One bounded HTTP GET."""

import ssl
from collections.abc import Mapping

import aiohttp

from collector.errors import ConfigError
from collector.scrape.config import Job, TargetTls
from collector.scrape.errors import ScrapeFailed

ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
"""The plain format: OpenMetrics adds nothing that is kept."""


def session(job: Job, connections: int = 64) -> aiohttp.ClientSession:
    """HTTP for the targets of a job. Raises ConfigError when its certificates can't be read."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, ssl=_ssl(job.tls), ttl_dns_cache=30),
        timeout=aiohttp.ClientTimeout(total=job.timeout_s),
        headers={"Accept": ACCEPT, "User-Agent": "pdscope"},
        # Pages decompress here, up to the limit alone.
        auto_decompress=True,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
    )


async def get(http: aiohttp.ClientSession, url: str, job: Job) -> tuple[bytes, str]:
    """(body, content type) of a page. Raises ScrapeFailed."""
    server_name = job.tls.server_name if job.tls else None
    try:
        async with http.get(
            url, headers=_authorization(job), allow_redirects=False, server_hostname=server_name
        ) as answer:
            if answer.status != 200:
                raise ScrapeFailed(f"http_{answer.status}", f"{url} answers HTTP {answer.status}")
            body = await _body(answer, job.max_bytes, url)
            return body, answer.content_type
    except TimeoutError as error:
        raise ScrapeFailed("timeout", f"{url} did not answer within {job.timeout_s:g} s") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise ScrapeFailed("tls", f"{url}: its certificate is not trusted: {error}") from error
    except aiohttp.ClientSSLError as error:
        raise ScrapeFailed("tls", f"{url}: {error}") from error
    except aiohttp.ClientConnectorError as error:
        raise ScrapeFailed("no_connection", f"{url}: {error}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ScrapeFailed("broken_answer", f"{url}: {error or type(error).__name__}") from error


async def _body(answer: aiohttp.ClientResponse, limit: int, url: str) -> bytes:
    if (answer.content_length or 0) > limit:
        raise ScrapeFailed("too_large", f"{url} has {answer.content_length:,} bytes, the limit is {limit:,}")
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_any():
        size += len(part)
        if size > limit:
            raise ScrapeFailed("too_large", f"{url} has more than {limit:,} bytes (max_bytes)")
        parts.append(part)
    return b"".join(parts)


def _authorization(job: Job) -> Mapping[str, str]:
    if job.bearer_token_file is None:
        return {}
    try:
        # Read each time: tokens rotate.
        token = job.bearer_token_file.read_text().strip()
    except OSError as error:
        raise ScrapeFailed("no_token", f"{job.bearer_token_file}: {error.strerror}") from error
    return {"Authorization": f"Bearer {token}"}


def _ssl(tls: TargetTls | None) -> ssl.SSLContext | bool:
    if tls is None:
        return True
    try:
        context = ssl.create_default_context(cafile=str(tls.ca) if tls.ca else None)
        if tls.cert and tls.key:
            context.load_cert_chain(str(tls.cert), str(tls.key))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"tls of a scrape job: {error}") from error
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
