"""Where alerts lead: dashboards and runbooks."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Places:
    """Base addresses, and the Prometheus job that scrapes pdscope."""

    grafana: str = "http://localhost:3000"
    runbooks: str = "https://github.com/pdscope/pdscope/blob/main/docs/runbooks"
    job: str = "pdscope"

    def runbook(self, name: str) -> str:
        """Address of `docs/runbooks/<name>.md`; name may be a template."""
        return f"{self.runbooks.rstrip('/')}/{name}.md"

    def dashboard(self, uid: str, since: str = "now-1h", **variables: str) -> str:
        """Address of a dashboard with some of its variables set; values may be templates."""
        given = "".join(f"&var-{name}={_quoted(value)}" for name, value in variables.items())
        return f"{self.grafana.rstrip('/')}/d/{uid}?from={since}&to=now{given}"


def _quoted(value: str) -> str:
    """Templates are left as they are; Prometheus fills them in."""
    if value.startswith("{{"):
        return value
    return quote(value, safe="")
