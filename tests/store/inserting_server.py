"""Test only: a ClickHouse over HTTP that takes any statement, on an embedded engine. usage: DIRECTORY

The real HTTP client writes to it as to a server. It prints its port.
"""

import json
import re
import sys
import tempfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.frame

from collector.endpoint.greeting import BLOCK_INFO
from collector.endpoint.http_request import take_apart

_MAX = 1 << 30


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self._body()
        url = urlsplit(self.path)
        values = dict(parse_qsl(url.query, keep_blank_values=True))
        if url.path == "/ping":
            self._answer(200, b"Ok.\n", {})
            return
        head, data = values.get("query", ""), body
        if "multipart" in self.headers.get("content-type", ""):
            asked = take_apart(url.query.encode(), {k.lower(): v for k, v in self.headers.items()}, body)
            head, data, values = (
                asked.sql,
                b"",
                {**values, **{f"param_{k}": v for k, v in asked.params.items()}},
            )
        try:
            answer, name = self._run(head, data, values)
            self._answer(200, answer, {"X-ClickHouse-Format": name} if name else {})
        except RuntimeError as error:
            text = str(error)
            self._answer(
                500, text[max(text.find("Code: "), 0) :].encode(), {"X-ClickHouse-Exception-Code": "1"}
            )

    def _run(self, head: str, data: bytes, values: dict[str, str]) -> tuple[bytes, str]:
        params = {name[6:]: value for name, value in values.items() if name.startswith("param_")}
        handle = chdb.connect(self.server.directory)  # type: ignore[attr-defined,no-untyped-call]
        try:
            if data.lstrip()[:6].upper() == b"INSERT" and not head:
                line, _, data = data.partition(b"\n")
                head = line.decode()
            if head.lstrip()[:6].upper() == "INSERT" and " FORMAT " in head.upper():
                into, _, name = (
                    head.rpartition(" FORMAT ") if " FORMAT " in head else head.rpartition(" format ")
                )
                with tempfile.NamedTemporaryFile() as file:
                    file.write(data)
                    file.flush()
                    handle.query(
                        f"{into} FROM INFILE '{file.name}' FORMAT {name.strip()}", "TSV", params=params
                    )
                return b"", ""
            sql = head + ("\n" + data.decode() if data else "")
            name = (
                "Native" if sql.rstrip().endswith("Native") else values.get("default_format", "TabSeparated")
            )
            block_info = name == "Native" and "client_protocol_version" in values
            if block_info and not re.match(r"(\s|--[^\n]*\n)*(SELECT|WITH)\b", sql, re.IGNORECASE):
                answer = handle.query(sql, name, params=params).bytes() or b""
                return BLOCK_INFO + answer if answer else b"", name
            if block_info:
                # One chunk is one block; each has its info before it.
                chunks = [chunk.bytes() for chunk in handle.send_query(sql, name, params=params)]
                return b"".join(BLOCK_INFO + chunk for chunk in chunks if chunk), name
            return handle.query(sql, name, params=params).bytes() or b"", name
        finally:
            handle.close()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(parts)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        encoding = self.headers.get("Content-Encoding", "")
        if encoding == "lz4":
            return bytes(lz4.frame.decompress(body))
        return zlib.decompress(body, 31) if encoding == "gzip" else body

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        summary = json.dumps({"written_rows": "0"})
        for name, value in {
            **headers,
            "Content-Length": str(len(body)),
            "X-ClickHouse-Summary": summary,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    directory = sys.argv[1] if len(sys.argv) > 1 else ":memory:"


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    keep = chdb.connect(Server.directory)  # type: ignore[no-untyped-call]
    print(server.server_address[1], flush=True)
    server.serve_forever()
