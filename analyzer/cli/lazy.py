"""Commands whose modules are heavy are loaded only when they are called."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class Later:
    """Where a command lives (`module:attribute`, a function or a Typer app) and its line in `--help`."""

    target: str
    help: str


LATER = {
    "alert-webhook": Later(
        "dashboards.cli.alert_webhook:alert_webhook", "Say why an alert fires, as Alertmanager's webhook."
    ),
    "compare": Later("analyzer.cli.compare:compare", "Set two cohorts, or before and after, side by side."),
    "config": Later("analyzer.cli.config:app", "Check settings before they are used."),
    "dashboards": Later("dashboards.cli.dashboards:app", "Grafana dashboards as code."),
    "demo": Later(
        "analyzer.cli.demo:demo", "Stream real captures into a pdscope of its own and look at them."
    ),
    "doctor": Later("analyzer.cli.doctor:doctor", "What arrives, what is missing, and what can't be so."),
    "gate": Later("analyzer.cli.gate:gate", "May a candidate cohort replace the baseline?"),
    "journal": Later(
        "analyzer.cli.journal:journal", "Show, verify or replay what was acknowledged and is not yet stored."
    ),
    "migrate": Later("analyzer.cli.migrate:migrate", "Show, or apply, what a store's schema lacks."),
    "plan": Later("analyzer.cli.plan:app", "What-if planning; every figure is modelled."),
    "receipt": Later("analyzer.cli.plan:receipt_app", "Check topology receipts."),
    "replay": Later(
        "analyzer.cli.replay:replay", "Replay a trace against an endpoint; write what was measured."
    ),
    "rules": Later("dashboards.cli.rules:app", "Alert rules from slo.yaml."),
    "slo": Later("dashboards.cli.slo:app", "Objectives as OpenSLO, for Sloth or Pyrra, and from OpenSLO."),
    "tap": Later("analyzer.cli.tap:tap", "Record what clients of an endpoint see, from in front of it."),
    "token": Later("analyzer.cli.token:token", "Make a token to send, read or administer with."),
}


class LazyGroup(TyperGroup):
    """A command group that knows the names and help of LATER without importing them."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, the light ones first."""
        return [*super().list_commands(ctx), *LATER]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands; their lines are known without loading them."""
        self._listing = True
        try:
            super().format_commands(ctx, formatter)
        finally:
            self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; while commands are being listed, a stand-in that knows its line."""
        later = LATER.get(cmd_name)
        if later is None:
            return super().get_command(ctx, cmd_name)
        if self._listing:
            return TyperCommand(cmd_name, short_help=later.help, help=later.help)
        return _load(cmd_name, later)


def _load(name: str, later: Later) -> Any:
    module, attribute = later.target.split(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        # Also a group of one command is a group: typer would take its only command for the whole.
        command: Any = typer.main.get_group(found)
    else:
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(name)(found)
        command = typer.main.get_command(alone)
    command.name = name
    return command
