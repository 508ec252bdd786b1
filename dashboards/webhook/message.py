"""The message: one block an alert, in Slack's format."""

from datetime import datetime
from typing import Any

from dashboards.webhook.diagnosis import Why

MAX_ALERTS = 10
"""Slack takes 50 blocks; more alerts than this are only counted."""


def message(notification: dict[str, Any], diagnoses: list[Why | str]) -> dict[str, Any]:
    """Return the body for a Slack-compatible webhook. diagnoses: by alert; a text says why there is none."""
    alerts = notification["alerts"]
    blocks = [
        _section(_alert(alert, why)) for alert, why in zip(alerts[:MAX_ALERTS], diagnoses, strict=False)
    ]
    if len(alerts) > MAX_ALERTS:
        blocks.append(_section(f"and {len(alerts) - MAX_ALERTS} more alerts"))
    return {"text": _headline(notification), "blocks": blocks}


def _headline(notification: dict[str, Any]) -> str:
    alerts = notification["alerts"]
    firing = sum(alert.get("status") == "firing" for alert in alerts)
    state = f"{firing} firing" if firing else "resolved"
    return escaped(f"pdscope: {state}: {_summary(alerts[0])}")


def _summary(alert: dict[str, Any]) -> str:
    annotations, labels = alert.get("annotations", {}), alert.get("labels", {})
    return str(annotations.get("summary") or labels.get("alertname", "alert"))


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:2900]}}


def _alert(alert: dict[str, Any], why: Why | str) -> str:
    labels, annotations = alert.get("labels", {}), alert.get("annotations", {})
    firing = alert.get("status") == "firing"
    lines = [f"*{'FIRING' if firing else 'RESOLVED'}* {escaped(_summary(alert))}"]
    named = [
        f"{name} `{escaped(labels[name])}`" for name in ("slo", "model", "pool", "cause") if labels.get(name)
    ]
    if named:
        lines.append(" · ".join(named))
    if annotations.get("description"):
        lines.append(escaped(annotations["description"]))
    if firing:
        lines += _why(why)
    links = [
        f"<{annotations[key]}|{title}>"
        for key, title in (("dashboard", "Dashboard"), ("why", "Why"), ("runbook_url", "Runbook"))
        if str(annotations.get(key, "")).startswith(("http://", "https://"))
    ]
    return "\n".join([*lines, *([" · ".join(links)] if links else [])])


def _why(why: Why | str) -> list[str]:
    if isinstance(why, str):
        return [f"No diagnosis: {escaped(why)}"]
    lines = [f"{why.missed:,.0f} of {why.evaluated:,.0f} requests missed."]
    if why.summary:
        lines.append(escaped(why.summary))
    if why.causes:
        lines.append("Causes: " + _counted(why.causes))
    if why.phases:
        lines.append("Waited longest in: " + _counted(why.phases))
    return lines


def _counted(items: tuple[tuple[str, float], ...]) -> str:
    return ", ".join(f"{escaped(name)} {count:,.0f}" for name, count in items)


def escaped(text: str) -> str:
    """Text as Slack wants it: no markup of its own."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def started_at(alert: dict[str, Any]) -> datetime:
    """When the alert began to fire. Raises ValueError."""
    text = str(alert.get("startsAt", ""))
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
