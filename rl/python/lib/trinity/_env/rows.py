"""Rows of a file as the dataset that GEM's environments take."""

import csv
import json
import os
import sys
import threading

_lock = threading.Lock()
_read = {}  # path → (when, dataset)


def read(path):
    """The rows of a .jsonl, .json, .csv or .parquet file as a datasets.Dataset. A file is read once."""
    path = os.path.abspath(path)
    try:
        when = os.stat(path).st_mtime_ns
    except OSError as e:
        raise FileNotFoundError(f"dataset: {e}") from e
    try:
        from datasets import Dataset
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(
            f"{e}: GEM's dataset environments need the package datasets: {sys.executable} -m pip install datasets"
        ) from None
    with _lock:
        known = _read.get(path)
        if known is None or known[0] != when:
            known = _read[path] = (when, _rows(path, Dataset))
    return known[1]


def _rows(path, Dataset):
    kind = os.path.splitext(path)[1]
    if kind == ".parquet":
        return Dataset.from_parquet(path, keep_in_memory=True)
    with open(path, encoding="utf-8") as f:
        if kind == ".csv":
            rows = list(csv.DictReader(f))
        elif kind == ".json":
            rows = json.load(f)
        else:
            rows = list(_lines(path, f))
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"dataset {path} has no rows")
    return Dataset.from_list(rows)


def _lines(path, f):
    for number, line in enumerate(f, 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except ValueError as e:
            raise ValueError(f"{path}:{number}: {e}") from None


def memo(env):
    """The memo for copy.deepcopy of an environment in which datasets, which do not change, are not copied."""
    datasets = sys.modules.get("datasets")
    kind = getattr(datasets, "Dataset", None)
    shared = {}
    while kind is not None and hasattr(env, "__dict__"):
        for value in list(vars(env).values()):
            if isinstance(value, kind):
                shared[id(value)] = value
        inner = vars(env).get("env")
        if inner is env:
            break
        env = inner
    return shared
