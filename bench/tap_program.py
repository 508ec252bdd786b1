"""The tap as a program that prints its port: `python -m bench.tap_program UPSTREAM OTLP`."""

import sys

import uvloop

from collector.tap.server import serve
from collector.tap.settings import Address, TapSettings

if __name__ == "__main__":
    settings = TapSettings(sys.argv[1], Address("127.0.0.1", 0), sys.argv[2])
    uvloop.run(serve(settings, lambda address: print(address.port, flush=True)))
