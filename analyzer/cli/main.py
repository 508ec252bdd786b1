"""Entry point of the `pdscope` command."""

import sys
from typing import Annotated

import typer

from analyzer.cli.errors import CommandError
from analyzer.cli.explain import explain
from analyzer.cli.import_ import import_
from analyzer.cli.lazy import LazyGroup
from analyzer.cli.report import report
from analyzer.cli.serve import serve
from collector.errors import CollectorError, ConfigError

app = typer.Typer(
    name="pdscope",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        from collector.version import own_version

        print(f"pdscope {own_version()}")
        raise typer.Exit


@app.callback()
def pdscope(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Why a request missed its TTFT or TPOT objective on prefill/decode-disaggregated LLM serving.

    \b
    Examples:
      pdscope demo                               see it work on real captures
      pdscope serve                              receive on 4317/4318, answer on 8080
      pdscope import capture.otlp.pb             load a capture
      pdscope report --from 2026-01-31T12:00:00Z
      pdscope explain 4bf92f3577b34da6a3ce929d0e0e4736
    """


app.command(short_help="Receive telemetry, rebuild requests, answer over REST.")(serve)
app.command("import", short_help="Load captures and files.")(import_)
app.command(short_help="Say what was met, what missed, and where the time went.")(report)
app.command(short_help="Draw one request's timeline.")(explain)


def main() -> None:
    """Run the command; known failures are one line on stderr and exit code 1 or 2."""
    try:
        app()
    except CommandError as error:
        _fail(error, error.exit_code)
    except CollectorError as error:
        _fail(error, 2)
    except UnicodeEncodeError:
        _fail(ConfigError("an argument or a setting is not UTF-8 text"), 2)
    except BrokenPipeError:
        # The reader of a pipe left: nothing more to say, and nothing to flush.
        sys.stdout = None
        sys.exit(141)


def _fail(error: Exception, code: int) -> None:
    print(f"pdscope: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
