"""Runs vllm-router with tracing on: its command has no flag for it, its Rust class has.

OTEL_SERVICE_NAME=vllm-router python traced_router.py HOST:PORT [vllm-router's own options]
"""

import argparse
import sys

from vllm_router.router import policy_from_str
from vllm_router.router_args import RouterArgs
from vllm_router_rs import Router


def main(endpoint, options):
    parser = argparse.ArgumentParser()
    RouterArgs.add_cli_args(parser)
    given = vars(RouterArgs.from_cli_args(parser.parse_args(options)))
    settings = {name: value for name, value in given.items() if name != "mini_lb"}
    for name in ("policy", "prefill_policy", "decode_policy"):
        settings[name] = policy_from_str(settings[name])
    settings |= {"worker_urls": [], "enable_trace": True, "otlp_traces_endpoint": endpoint}
    Router(**settings).start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
