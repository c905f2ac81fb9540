"""Statistics over metrics. Monitors themselves are the trinity binary's (monitor.monitor_type)."""

from trinity import _missing
from trinity.algorithm._refused import Base
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)

MONITOR = Refusing("monitor", "the monitor", "name monitor_type: tensorboard, wandb, mlflow or trackio, or bring one from a Go "
                   "program (examples/plugin)")


class Monitor(Base):
    """The base class of monitors, so that files load that bring one."""

    instead = MONITOR.instead


def gather_metrics(metric_list, prefix, output_stats=None):
    """Mean, max and min of the numbers that a list of dicts has under each key, as prefix/key/mean and so on."""
    stats = output_stats or ["mean", "max", "min"]
    columns = {}
    for metrics in metric_list:
        for key, value in metrics.items():
            if isinstance(value, (int, float)):
                columns.setdefault(key, []).append(float(value))
    of = {"mean": lambda v: sum(v) / len(v), "max": max, "min": min, "std": _std}
    return {f"{prefix}/{key}/{s}": of[s](values) for key, values in columns.items() for s in stats if s in of}


def _std(values):
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
