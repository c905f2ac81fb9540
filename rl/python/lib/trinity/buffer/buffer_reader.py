"""The base class of readers."""

from abc import ABC, abstractmethod

from trinity import _missing

__getattr__ = _missing.attribute(__name__)


class BufferReader(ABC):
    """Reads tasks in batches until StopAsyncIteration (or StopIteration) ends them."""

    @abstractmethod
    async def read(self, batch_size=None, **kwargs):
        """The next tasks: of class Task, or rows as dicts."""

    def __len__(self):
        raise NotImplementedError

    def state_dict(self):
        raise NotImplementedError

    def load_state_dict(self, state_dict):
        raise NotImplementedError
