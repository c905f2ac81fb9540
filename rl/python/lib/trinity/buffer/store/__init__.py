"""Experiences that were recorded, by the keys of their runs."""

from trinity import _missing
from trinity.buffer.store.base_store import BaseStore, ExperienceUpdate, RecordStore
from trinity.buffer.store.memory_store import MemoryStore, get_record_key, get_sample_id, parse_record_key

__getattr__ = _missing.attribute(__name__)
__all__ = ["BaseStore", "ExperienceUpdate", "MemoryStore", "RecordStore", "get_record_key", "get_sample_id",
           "parse_record_key"]
