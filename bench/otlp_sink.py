"""An OTLP/gRPC listener that acknowledges everything and keeps nothing; prints its port."""

from concurrent.futures import ThreadPoolExecutor

import grpc


class Sink(grpc.GenericRpcHandler):
    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(lambda body, context: b"")


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(2), [Sink()])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination(600)
