"""Progress: the lines of the run, in a notebook with one line of the steps that is kept up to date."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

_BARS = "▁▂▃▄▅▆▇█"


class Show:
    """Prints what the run says."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._rewards: list[float] = []
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self._notebook = shell is not None and hasattr(shell, "kernel")

    def line(self, text: str) -> None:
        """A line of standard output."""
        if self._notebook and text.startswith("step "):
            self._update(text)
        else:
            print(text, flush=True)

    def _update(self, text: str) -> None:
        found = re.search(r"  (?:reward|loss) (-?[\d.]+)", text)
        if found:
            self._rewards.append(float(found[1]))
        data = {"text/plain": f"{text}\n{sparkline(self._rewards)}"}
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def sparkline(values: list[float], width: int = 60) -> str:
    """The course of values as characters; of many, the means of neighbours."""
    if not values:
        return ""
    each = -(-len(values) // width)
    means = [sum(values[i:i + each]) / len(values[i:i + each]) for i in range(0, len(values), each)]
    low, span = min(means), max(means) - min(means)
    return "".join(_BARS[int((v - low) / span * (len(_BARS) - 1))] if span else _BARS[0] for v in means)
