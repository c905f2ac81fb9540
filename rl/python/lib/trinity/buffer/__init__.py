"""Operators, readers and formatters of experiences and tasks."""

from trinity import _missing
from trinity.buffer.buffer_reader import BufferReader

__getattr__ = _missing.attribute(__name__)
__all__ = ["BufferReader"]
