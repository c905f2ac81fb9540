"""Statistics over metrics. A name may end in an aggregate: tokens:sum, peak:max, low:min, version:last, reward:mean. A name
that ends in none of them, or in another word after the colon, is averaged."""

import math
import random
from enum import Enum

from trinity import _missing

__getattr__ = _missing.attribute(__name__)


class AggType(str, Enum):
    """How values become one."""

    MEAN = "mean"
    SUM = "sum"
    MAX = "max"
    MIN = "min"
    LAST = "last"


def _mean(values):
    return sum(values) / len(values)


def _std(values):
    """The population's deviation, as numpy.std has it."""
    mean = _mean(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def take_last(values):
    """The last value."""
    return values[-1]


AGG_REDUCERS = {AggType.SUM: sum, AggType.MAX: max, AggType.MIN: min, AggType.LAST: take_last}
STAT_FNS = {"mean": _mean, "max": max, "min": min, "std": _std}
_REDUCE = {AggType.MEAN: _mean, **AGG_REDUCERS}


def parse_metric_key(key):
    """The name and the aggregate of a key: ("tokens", AggType.SUM) of tokens:sum."""
    name, colon, word = key.rpartition(":")
    if colon and word in {a.value for a in AggType}:
        return name, AggType(word)
    return key, AggType.MEAN


def group_numeric_metrics(metric_dicts):
    """The numbers under each name and aggregate, in the order in which they appear."""
    out = {}
    for metrics in metric_dicts:
        for key, value in metrics.items():
            if isinstance(value, (int, float)):
                out.setdefault(parse_metric_key(key), []).append(float(value))
    return out


def _aggregated(metric_dicts, prefix, mean):
    """The aggregates of all columns. mean gives those of a column that is averaged, by the end of their name."""
    begin, out = f"{prefix}/" if prefix else "", {}
    for (name, agg), values in group_numeric_metrics(metric_dicts).items():
        ends = mean(values) if agg is AggType.MEAN else {f"/{agg.value}": _REDUCE[agg](values)}
        out.update({begin + name + end: v for end, v in ends.items()})
    return out


def _stats(names):
    return lambda values: {f"/{n}": STAT_FNS[n](values) for n in names if n in STAT_FNS}


def aggregate_metrics(metric_dicts, prefix="", default_output_stats=None):
    """The metrics of a batch: prefix/name/mean, /max and /min of what is averaged, prefix/name/sum of name:sum and so on."""
    return _aggregated(metric_dicts, prefix, _stats(default_output_stats or ["mean", "max", "min"]))


def aggregate_eval_metrics(metric_dicts, prefix="", output_stats=None, detailed_stats=False):
    """The metrics of an evaluation: the mean alone as prefix/name, or with detailed_stats the output_stats."""
    if detailed_stats:
        return _aggregated(metric_dicts, prefix, _stats(output_stats or ["mean", "max", "min", "std"]))
    return _aggregated(metric_dicts, prefix, lambda values: {"": _mean(values)})


def _key(name, agg):
    return name if agg is AggType.MEAN else f"{name}:{agg.value}"


def group_metrics_by_canonical_key(metric_dicts):
    """Aggregate and numbers under each name, as aggregate_run_level_metrics has it."""
    return {_key(*column): (column[1], values) for column, values in group_numeric_metrics(metric_dicts).items()}


def aggregate_run_level_metrics(metric_dicts):
    """One dict for the experiences of a run. Names keep their aggregate, so that tasks and batches see it too."""
    return {_key(name, agg): _REDUCE[agg](values) for (name, agg), values in group_numeric_metrics(metric_dicts).items()}


def calculate_task_level_metrics(metrics, is_eval):
    """One dict for the runs of a task. An evaluation has mean@n, std@n, and best@k and worst@k (see bootstrap_metric) for
    k = 2, 4, 8 … below n and n itself. Times are averaged."""
    if not is_eval:
        return aggregate_run_level_metrics(metrics)
    out = {}
    for (name, agg), values in group_numeric_metrics(metrics).items():
        if agg is not AggType.MEAN or "time/task_execution" in name or "time/run_execution" in name:
            out[_key(name, agg)] = _REDUCE[agg](values)
            continue
        n = len(values)
        out[f"{name}/mean@{n}"], out[f"{name}/std@{n}"] = _mean(values), _std(values)
        for k in _sizes(n):
            (best, _), (worst, _) = bootstrap_metric(values, k, [max, min])
            out[f"{name}/best@{k}"], out[f"{name}/worst@{k}"] = best, worst
    return out


def _sizes(n):
    if n < 2:
        return []
    return [2**i for i in range(1, n.bit_length()) if 2**i < n] + [n]


def bootstrap_metric(data, subset_size, reduce_fns, n_bootstrap=1000, seed=42):
    """Mean and deviation of each function over subsets drawn with replacement. The draws are those of numpy's legacy
    generator, numpy.random.seed(seed) and numpy.random.choice, without numpy and without changing its state."""
    draw, drawn = _Legacy(seed), [[] for _ in reduce_fns]
    for _ in range(n_bootstrap):
        subset = [data[draw.below(len(data))] for _ in range(subset_size)]
        for f, values in zip(reduce_fns, drawn):
            values.append(f(subset))
    return [(float(_mean(values)), float(_std(values))) for values in drawn]


class _Legacy:
    """numpy.random.RandomState: MT19937 seeded by init_genrand, and whole numbers by masked rejection."""

    def __init__(self, seed):
        state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
        self._random = random.Random()
        self._random.setstate((3, (*state, 624), None))

    def below(self, n):
        if n == 1:
            return 0
        while True:
            value = self._random.getrandbits(32) & ((1 << (n - 1).bit_length()) - 1)
            if value < n:
                return value
