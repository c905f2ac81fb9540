"""A writer of JSON lines."""

import json
import os

from trinity import _missing
from trinity.buffer.buffer_writer import BufferWriter

__getattr__ = _missing.attribute(__name__)


class JSONWriter(BufferWriter):
    """Appends rows, tasks and experiences to a file, each as it is for a person (to_dict)."""

    def __init__(self, config):
        if os.path.splitext(config.path or "")[1] not in (".json", ".jsonl"):
            raise ValueError(f"path is {config.path!r}; it must end in .json or .jsonl")
        os.makedirs(os.path.dirname(os.path.abspath(config.path)), exist_ok=True)
        self._file = open(config.path, "a", encoding="utf-8")
        self._users = 0

    async def write(self, data):
        for item in data:
            row = item.to_dict() if hasattr(item, "to_dict") else item  # a Task is a dict, too, an empty one
            self._file.write(json.dumps(row, ensure_ascii=False, default=lambda v: v.to_dict()) + "\n")
        self._file.flush()

    async def acquire(self):
        self._users += 1
        return self._users

    async def release(self):
        self._users -= 1
        if self._users <= 0:
            self._file.close()
        return self._users
