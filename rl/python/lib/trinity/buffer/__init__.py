"""Operators, readers and formatters of experiences and tasks."""

from trinity import _missing
from trinity.buffer.buffer_reader import BufferReader
from trinity.buffer.buffer_writer import BufferWriter

__all__ = ["BufferReader", "BufferWriter", "get_buffer_reader", "get_buffer_writer"]
_missing_here = _missing.attribute(__name__)


def __getattr__(name):  # what buffer.py imports imports this package
    if name in __all__:
        from trinity.buffer import buffer

        return getattr(buffer, name)
    return _missing_here(name)
