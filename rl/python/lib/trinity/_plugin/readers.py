"""reader.read: the rows of a reader."""

import inspect

from trinity import _seam
from trinity.buffer.reader import READER
from trinity.common.config import FormatConfig, GenerationConfig, StorageConfig, of
from trinity.common.workflows import Task

MOST = 1_000_000
"""Rows that a reader may give: one that never ends is taken for endless."""


async def read(args, call):
    """args: name, config, from, count. All rows are read when the first are asked for."""
    with _seam.within(call):
        rows = await _rows(args["name"], args["config"])
        return {"total": len(rows), "rows": rows[args["from"] : args["from"] + args["count"]]}


_read = {}


async def _rows(name, config):
    key = (name, repr(sorted(config.items(), key=str)))
    if key not in _read:
        _read[key] = await _all(READER.get(name), config)
    return _read[key]


async def _all(cls, config):
    c = of(StorageConfig, config)
    c.format, c.rollout_args = of(FormatConfig, config.get("format")), of(GenerationConfig, config.get("rollout_args"))
    c.batch_size = c.batch_size or 1
    reader, rows = cls(c), []
    try:
        while len(rows) < MOST:
            batch = reader.read(1)
            if inspect.isawaitable(batch):
                batch = await batch
            if not batch:
                return rows
            rows += [_row(item) for item in batch]
    except (StopAsyncIteration, StopIteration, RuntimeError) as e:
        if isinstance(e, RuntimeError) and not isinstance(e.__cause__, (StopIteration, StopAsyncIteration)):
            raise
        return rows
    raise ValueError(f"reader {cls.__name__} gave {MOST} rows and did not end: end it with StopAsyncIteration after one "
                     "pass")


def _row(item):
    if isinstance(item, Task):
        item = item.raw_task
    if not isinstance(item, dict):
        raise TypeError(f"a reader gave {type(item).__name__}; it must give tasks (trinity.common.workflows.Task) or dicts")
    return item
