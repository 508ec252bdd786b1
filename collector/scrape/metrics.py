"""What scraping counts about itself, as Prometheus metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ScrapeMetrics:
    """Counters, gauges and histograms of scraping, registered in the given registry."""

    def __init__(self, registry: CollectorRegistry):
        self.targets = Gauge("pdscope_scrape_targets", "Targets scraped now", ["job"], registry=registry)
        self.up = Gauge(
            "pdscope_scrape_targets_up", "Targets whose last scrape worked", ["job"], registry=registry
        )
        self.scrapes = Counter("pdscope_scrapes", "Pages scraped and kept", ["job"], registry=registry)
        self.failures = Counter(
            "pdscope_scrape_failures",
            "Scrapes of which nothing was kept",
            ["job", "reason"],
            registry=registry,
        )
        self.seconds = Histogram(
            "pdscope_scrape_seconds",
            "From asking for a page to having it",
            ["job"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.points = Counter("pdscope_scraped_points", "Points made of pages", ["job"], registry=registry)
        self.left_out = Counter(
            "pdscope_scrape_lines_left_out",
            "Lines of pages that no adapter names",
            ["job"],
            registry=registry,
        )
        self.refused = Counter(
            "pdscope_scrape_refused",
            "Exports made of pages that the journal did not take",
            ["job", "reason"],
            registry=registry,
        )
        self.discovery_failures = Counter(
            "pdscope_discovery_failures",
            "Times that targets could not be looked up; the last known ones stay",
            ["job"],
            registry=registry,
        )
