"""A reader of a plug-in's own files. The tasks of a run are read by the trinity binary."""

import csv
import glob
import json
import os

from trinity import _missing
from trinity.buffer.buffer_reader import BufferReader
from trinity.common.workflows.workflow import WORKFLOWS, Task

__getattr__ = _missing.attribute(__name__)


class FileReader(BufferReader):
    """The rows of JSON, JSON lines and CSV files as tasks, in order, total_epochs times; other files need the package
    datasets. A step that is not whole ends a taskset, and is the last of an evaluation."""

    def __init__(self, config):
        if config.schema_type not in (None, "", "task"):
            raise _missing.error(f"trinity.buffer.schema (schema_type {config.schema_type})")
        self.config = config
        self._rows = _rows(config)
        if not self._rows:
            raise ValueError(f"{config.path} has no rows")
        self._at = config.index
        self._end = len(self._rows) * (1 if config.is_eval else config.total_epochs)
        if config.total_steps is not None and not config.is_eval:
            self._end = config.batch_size * config.total_steps

    async def read(self, batch_size=None, **kwargs):
        size = batch_size or self.config.batch_size or 1
        upto = min(self._at + size, self._end)
        if self._at >= self._end or upto - self._at < size and not self.config.is_eval:
            raise StopAsyncIteration
        made = [self._task(i % len(self._rows)) for i in range(self._at, upto)]
        self._at = upto
        return made

    def _task(self, i):
        c, row = self.config, self._rows[i]
        from trinity.common.rewards import REWARD_FUNCTIONS

        return Task(workflow=WORKFLOWS.get(row.get(c.format.workflow_key) or c.default_workflow_type),
                    reward_fn=REWARD_FUNCTIONS.get(row.get(c.format.reward_fn_key) or c.default_reward_fn_type),
                    repeat_times=c.repeat_times, format_args=c.format, rollout_args=c.rollout_args, raw_task=row,
                    workflow_args=c.workflow_args, reward_fn_args=c.reward_fn_args, is_eval=c.is_eval, index={"index": i})

    def __len__(self):
        return len(self._rows)

    def state_dict(self):
        return {"current_index": self._at}

    def load_state_dict(self, state_dict):
        self._at = state_dict["current_index"]


def _rows(config):
    found = [config.path]
    if os.path.isdir(config.path):
        found = sorted(f for kind in _KINDS for f in glob.glob(os.path.join(config.path, f"*{config.split}*{kind}")))
    if not found or not all(os.path.isfile(f) and os.path.splitext(f)[1] in _KINDS for f in found):
        return _data_set(config)
    return [row for f in found for row in _KINDS[os.path.splitext(f)[1]](f)]


def _data_set(config):
    try:
        from datasets import load_dataset
    except ImportError as e:
        raise ImportError(f"{config.path} is no JSON, JSON lines or CSV file, and other data sets need the package datasets in "
                          "the Python that trinity uses: pip install datasets") from e
    return list(load_dataset(config.path, name=config.subset_name, split=config.split))


def _lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def _whole(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return json.loads(text) if text.lstrip().startswith("[") else _lines(path)


def _table(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


_KINDS = {".jsonl": _lines, ".json": _whole, ".csv": _table}
