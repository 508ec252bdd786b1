"""OTLP listeners (bytes in, checked whole, stored, acknowledged) and `pdscope import`'s files."""

from collector.receive.import_files import ImportReport, import_files
from collector.receive.receiver import OtlpReceiver
from collector.receive.settings import ReceiveSettings

__all__ = ["ImportReport", "OtlpReceiver", "ReceiveSettings", "import_files"]
