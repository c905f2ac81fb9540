"""The base class of writers."""

from abc import ABC, abstractmethod

from trinity import _missing

__getattr__ = _missing.attribute(__name__)


class BufferWriter(ABC):
    """Writes experiences or rows. acquire and release count who uses it."""

    @abstractmethod
    async def write(self, data):
        """Writes a list."""

    @abstractmethod
    async def acquire(self):
        """One user more: how many there are."""

    @abstractmethod
    async def release(self):
        """One user less: how many there are. Nothing is written after the last."""
