"""A store of recorded experiences in memory."""

import threading

from trinity import _missing
from trinity.buffer.store.base_store import RecordStore

__getattr__ = _missing.attribute(__name__)


def parse_record_key(key):
    """Batch, task and run of a key BATCH/TASK/RUN. The batch may have slashes of its own."""
    parts = key.rsplit("/", 2)
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"the key is {key!r}; it must be BATCH/TASK/RUN")
    try:
        return parts[0], parts[1], int(parts[2])
    except ValueError as e:
        raise ValueError(f"the key is {key!r}; its run must be a whole number") from e


def get_sample_id(exp):
    """The name of an experience within its key."""
    return exp.eid.suffix


def get_record_key(exp):
    """The key that an experience's id names; its sample id if it names none."""
    return exp.eid.rid if exp.eid.batch != "" and exp.eid.task != "" else exp.eid.suffix


class MemoryStore(RecordStore):
    """Keeps experiences in the order in which they came. Threads may share it."""

    def __init__(self):
        self._records = {}  # key → sample id → experience
        self._owners = {}  # sample id → key
        self._blocked = set()
        self._lock = threading.RLock()

    def __len__(self):
        with self._lock:
            return len(self._owners)

    def add(self, key, exps):
        batch, _, _ = parse_record_key(key)
        with self._lock:
            for exp in () if batch in self._blocked else exps:
                self._own(key, exp)
                self._records.setdefault(key, {})[get_sample_id(exp)] = exp

    def _own(self, key, exp):
        owner = self._owners.setdefault(get_sample_id(exp), key)
        if owner != key or get_sample_id(exp) in self._records.get(key, ()):
            raise ValueError(f"the sample id {get_sample_id(exp)} is already under the key {owner}")

    def overwrite(self, key, exps):
        parse_record_key(key)
        with self._lock:
            self._drop(key)
            self.add(key, exps)

    def replace(self, key, old_sample_id, exp):
        parse_record_key(key)
        with self._lock:
            records, new = self._found(key, old_sample_id), get_sample_id(exp)
            if new != old_sample_id:
                self._own(key, exp)
                del self._owners[old_sample_id]
            self._records[key] = {new if k == old_sample_id else k: exp if k == old_sample_id else v
                                  for k, v in records.items()}

    def _found(self, key, *sample_ids):
        records = self._records.get(key)
        if records is None:
            raise KeyError(f"there is no key {key}")
        for one in sample_ids:
            if one not in records:
                raise KeyError(f"there is no sample id {one} under the key {key}")
        return records

    def update(self, key, update, sample_ids):
        batch, task, run = parse_record_key(key)
        with self._lock:
            records = self._found(key, *(sample_ids or ()))
            for one in records if sample_ids is None else sample_ids:
                exp = records[one]
                exp.eid.batch, exp.eid.task, exp.eid.run = batch, task, run
                if update.reward is not None:
                    exp.reward = update.reward
                if update.info:
                    exp.info = {**(exp.info or {}), **update.info}
                if update.teacher_logprobs is not None:
                    exp.teacher_logprobs = update.teacher_logprobs

    def get(self, key):
        with self._lock:
            return [exp for k in self._matching(key) for exp in self._records[k].values()]

    def remove(self, key):
        with self._lock:
            return [exp for k in self._matching(key) for exp in self._drop(k)]

    def keys(self):
        with self._lock:
            return list(self._records)

    def block_prefix(self, prefix):
        """What is written for a batch from now on is dropped."""
        with self._lock:
            self._blocked.add(prefix)

    def is_prefix_blocked(self, prefix):
        return prefix in self._blocked

    def _matching(self, key):
        """The keys that a key, a batch, or a batch with a task names; "" names all."""
        if key == "" or key in self._records:
            return [key] if key else list(self._records)
        named = {k: parse_record_key(k) for k in self._records}
        batch = [k for k, (b, _, _) in named.items() if b == key]
        return batch or [k for k, (b, t, _) in named.items() if f"{b}/{t}" == key]

    def _drop(self, key):
        gone = self._records.pop(key, {})
        for one in gone:
            del self._owners[one]
        return list(gone.values())
