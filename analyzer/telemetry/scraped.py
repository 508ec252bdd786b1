"""Workers that pdscope asks for their metrics: who does not answer, and who is gone."""

from collections.abc import Iterator

from analyzer.telemetry.check import Check, Kind, Severity
from analyzer.telemetry.read import Arrivals, ScrapedWorker

_FIXES = {
    "no_connection": "start the worker, or take its target out of the scrape file; check host and port",
    "timeout": "raise timeout_s of its scrape job, or look at why the worker does not answer",
    "tls": "set tls: {ca: …} (or server_name) of its scrape job",
    "no_token": "make bearer_token_file of its scrape job readable for pdscope",
    "http_401": "set bearer_token_file of its scrape job",
    "http_403": "set bearer_token_file of its scrape job",
    "http_404": "set path of its scrape job to where the metrics page is",
    "not_metrics": "set path of its scrape job to where the metrics page is",
    "too_large": "raise max_bytes of its scrape job, or keep less with only",
    "too_many_series": "raise max_series of its scrape job, or keep less with only: {namespace: …}",
}


def scraped(found: Arrivals) -> Iterator[Check]:
    """Workers that are down, came and went, or left."""
    for worker in found.scraped:
        if worker.left:
            yield _check(
                worker, "worker_left", Severity.INFO, f"is no target any more: {worker.left}", "nothing to do"
            )
        elif not worker.up:
            why = worker.reason or "its exporter says so"
            fix = _FIXES.get(worker.reason, "look at the worker; its page could not be read")
            yield _check(worker, "worker_down", Severity.CRITICAL, f"can't be scraped: {why}", fix)
        elif worker.changes > 1:
            says = f"came and went: its state changed {worker.changes} times"
            yield _check(worker, "worker_unsteady", Severity.WARNING, says, "look at its restarts")


def _check(worker: ScrapedWorker, name: str, severity: Severity, says: str, fix: str) -> Check:
    matters = "its queue, load and KV use are not known from then on; requests on it may have been lost"
    return Check(name, Kind.FACT, severity, "", worker.worker, says, matters, fix)
