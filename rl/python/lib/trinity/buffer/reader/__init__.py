"""The registry of readers: buffer.explorer_input.taskset.storage_type names one."""

from trinity import _missing
from trinity.utils.registry import Registry

__getattr__ = _missing.attribute(__name__)
__all__ = ["READER"]

READER = Registry("reader", {"file": "trinity.buffer.reader.file_reader.FileReader"})
