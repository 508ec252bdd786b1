"""What the endpoint counts about itself."""

from prometheus_client import CollectorRegistry, Counter, Histogram


class EndpointMetrics:
    """Queries answered and refused."""

    def __init__(self, registry: CollectorRegistry):
        self.refused = Counter(
            "pdscope_clickhouse_http_refused",
            "Statements that were not answered, by ClickHouse's name of the error.",
            ["reason"],
            registry=registry,
        )
        self.seconds = Histogram(
            "pdscope_clickhouse_http_query_seconds", "Time a statement ran.", registry=registry
        )
