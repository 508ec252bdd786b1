"""The dialect of the Go client, and so of Grafana's data source: what its bytes must be."""

import httpx

from collector.endpoint.greeting import BLOCK_INFO, REVISION

GO = {"client_protocol_version": "54460", "default_format": "Native"}


class Bytes:
    """Reads Native from the front."""

    def __init__(self, data: bytes):
        self.data = data

    def take(self, count: int) -> bytes:
        part, self.data = self.data[:count], self.data[count:]
        assert len(part) == count
        return part

    def varint(self) -> int:
        shift = value = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        return self.take(self.varint()).decode()


def test_the_greeting_is_one_block_at_the_clients_own_revision(http: httpx.Client) -> None:
    sql = "SELECT displayName(), version(), revision(), timezone()"
    answer = http.post("/", params=GO, content=sql)
    assert answer.headers["x-clickhouse-format"] == "Native"
    block = Bytes(answer.content)
    assert block.take(len(BLOCK_INFO)) == BLOCK_INFO
    assert (block.varint(), block.varint()) == (4, 1)
    values = []
    for _ in range(4):
        name, kind = block.text(), block.text()
        # From revision 54454 on: whether the column's serialisation is custom.
        assert block.take(1) == b"\0"
        values.append((name, block.text() if kind == "String" else int.from_bytes(block.take(4), "little")))
    assert block.data == b""
    assert dict(values)["revision()"] == REVISION < 54454
    assert dict(values)["timezone()"] == "UTC"
    assert str(dict(values)["version()"])[:2].isdigit()


def test_every_block_has_its_info_before_it(http: httpx.Client) -> None:
    params = {**GO, "max_block_size": "2", "client_protocol_version": str(REVISION)}
    sql = "SELECT toUInt8(arrayJoin(range(5))) AS n FROM request_log"
    answer = Bytes(http.post("/", params=params, content=sql).content)
    numbers = []
    while answer.data:
        assert answer.take(len(BLOCK_INFO)) == BLOCK_INFO
        columns, rows = answer.varint(), answer.varint()
        assert columns == 1
        assert (answer.text(), answer.text()) == ("n", "UInt8")
        numbers += list(answer.take(rows))
    assert sorted(numbers) == sorted([*range(5)] * 5)


def test_without_a_revision_native_is_plain(http: httpx.Client) -> None:
    answer = http.post("/", content="SELECT toUInt8(7) AS n FORMAT Native")
    assert answer.content == b"\x01\x01\x01n\x05UInt8\x07"
