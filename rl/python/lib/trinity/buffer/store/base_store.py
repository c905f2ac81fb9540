"""What a store of recorded experiences does."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Dict, Optional

from trinity import _missing

__getattr__ = _missing.attribute(__name__)


@dataclass
class ExperienceUpdate:
    """What an update sets; None leaves a value as it is, and info is added to what is there."""

    reward: Optional[float] = None
    info: Optional[Dict[str, Any]] = None
    teacher_logprobs: Optional[Any] = None


class RecordStore(ABC):
    """Experiences by keys BATCH/TASK/RUN, and within a key by their sample ids (eid.suffix)."""

    @abstractmethod
    def add(self, key, exps):
        """Adds experiences; a sample id that is known is a ValueError."""

    @abstractmethod
    def overwrite(self, key, exps):
        """Replaces all experiences of a key."""

    @abstractmethod
    def replace(self, key, old_sample_id, exp):
        """Puts an experience in the place of another."""

    @abstractmethod
    def update(self, key, update, sample_ids):
        """Updates the experiences with these sample ids, or all of a key."""

    @abstractmethod
    def get(self, key):
        """The experiences of a key, of BATCH/TASK or of BATCH."""

    @abstractmethod
    def remove(self, key):
        """The same, and forgets them."""


BaseStore = RecordStore
