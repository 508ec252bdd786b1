"""A server to kill: `python -m tests.receive.small_server serve DIR` prints its gRPC port and serves;
`… ids DIR` prints the span ids stored in DIR.
"""

import sys
import threading

from prometheus_client import CollectorRegistry

from collector.receive import OtlpReceiver, ReceiveSettings
from collector.store import Store


def main(command: str, directory: str) -> None:
    store = Store.open(directory)
    if command == "ids":
        for (span_id,) in store.query("SELECT lower(hex(span_id)) FROM spans"):
            print(span_id)
        return
    receiver = OtlpReceiver(store, ReceiveSettings("127.0.0.1:0", "127.0.0.1:0"), CollectorRegistry())
    receiver.start()
    print(receiver.grpc_port, flush=True)
    threading.Event().wait(120)


if __name__ == "__main__":
    main(*sys.argv[1:])
