"""A run in progress: its lines, the calls of the user's functions, Ctrl-C, and how it ends."""

from __future__ import annotations

import importlib
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from trinity_go._binary import failure, interrupt
from trinity_go._functions import Call, Functions

_ASKED = "press Ctrl-C again to stop at once"
_BARS = "▁▂▃▄▅▆▇█"
_PATIENCE = 30.0
"""Seconds that the program has to end after a function failed. Then it is killed, which loses no committed step."""


class Follower:
    """Follows a process on this thread until it ends."""

    def __init__(self, process: subprocess.Popen[str], functions: Functions, events: queue.Queue[tuple[str, Any]]) -> None:
        self._process, self._functions, self._events = process, functions, events
        self._show, self._said, self._stops = Show(), "", 0
        self._failed: BaseException | None = None
        self._deadline = float("inf")

    def follow(self) -> None:
        """Raises what a function raised, KeyboardInterrupt after a Ctrl-C, or Error."""
        threading.Thread(target=self._read, daemon=True).start()
        code = None
        while code is None:
            try:
                code = self._next()
            except KeyboardInterrupt:
                self._stop()
        if self._failed is not None:
            raise self._failed
        if self._stops:
            raise KeyboardInterrupt
        if code:
            raise failure(self._said)

    def _read(self) -> None:
        """Puts the lines and then the end among the events."""
        def lines(kind: str, stream: Iterable[str]) -> None:
            for line in stream:
                self._events.put((kind, line.rstrip("\n")))
        streams = (("out", self._process.stdout), ("err", self._process.stderr))
        readers = [threading.Thread(target=lines, args=x, daemon=True) for x in streams]
        for r in readers:
            r.start()
        for r in readers:
            r.join()
        self._events.put(("end", self._process.wait()))

    def _next(self) -> int | None:
        """Handles an event; the exit code at the end."""
        try:
            kind, what = self._events.get(timeout=0.5)  # bounded, since Windows delivers a Ctrl-C only in between
        except queue.Empty:
            if time.monotonic() > self._deadline:
                self._process.kill()
            return None
        if kind == "end":
            return int(what)
        handlers: dict[str, Callable[[Any], None]] = {"out": self._show.line, "err": self._error, "call": self._call,
                                                      "failed": self._fail}
        handlers[kind](what)
        return None

    def _error(self, line: str) -> None:
        """A line of stderr. The error at its end is raised, not printed."""
        if self._said or line.startswith("trinity: "):
            self._said += line + "\n"
        elif _ASKED in line and self._failed is not None:
            interrupt(self._process)
        else:
            print(line, file=sys.stderr, flush=True)

    def _call(self, call: Call) -> None:
        """Calls a function. A Ctrl-C in it begins it anew, because the step that is finished needs its result."""
        while not call.done():
            try:
                result = call.function(**call.given)
                if not call.done():  # coroutines beside it have not failed
                    call.set_result(result)
            except KeyboardInterrupt as e:
                self._stop()
                if self._stops > 1:
                    call.fail(e)
            except BaseException as e:
                call.fail(e)
                self._fail(e)

    def _stop(self) -> None:
        self._stops += 1
        interrupt(self._process)

    def _fail(self, e: BaseException) -> None:
        """Stops the run at once. The first exception is the one to raise."""
        if self._failed is None:
            self._failed, self._deadline = e, time.monotonic() + _PATIENCE
            self._functions.give_up(f"{type(e).__name__}: {e}")
            interrupt(self._process)


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
