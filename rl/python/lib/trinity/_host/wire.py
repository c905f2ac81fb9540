"""Lines of JSON over two descriptors: messages come in from one thread, and go out from any."""

import json
import math
import os
from _thread import allocate_lock
from collections import deque


class Wire:
    """The two pipes to Go."""

    def __init__(self, source, sink, limit):
        self.source = source
        self.sink = sink
        self.limit = limit  # bytes of a line
        self._out = deque()
        self._lock = allocate_lock()

    def lines(self):
        """Yields lists of whole lines, as many as arrived together, until the other side is gone."""
        parts = []
        while True:
            chunk = os.read(self.source, 1 << 18)
            if not chunk:
                return
            lines = chunk.split(b"\n")
            if len(lines) == 1:
                parts.append(chunk)
                continue
            if parts:
                parts.append(lines[0])
                lines[0] = b"".join(parts)
            last = lines.pop()
            parts = [last] if last else []
            yield lines

    def send(self, line):
        """Sends a line. Whoever holds the lock writes for all: many answers are one write."""
        out = self._out
        out.append(line)
        while out:
            if not self._lock.acquire(False):
                return  # the holder looks again after it has released
            try:
                self._write(b"".join([out.popleft() for _ in range(len(out))]))
            finally:
                self._lock.release()

    def close(self):
        """For a forked child, as the pipe is its parent's."""
        self.send = _closed

    def _write(self, data):
        try:
            n = os.write(self.sink, data)
            while n < len(data):
                data = memoryview(data)[n:]
                n = os.write(self.sink, data)
        except BrokenPipeError:
            pass  # Go is gone; the reader sees the end of the input


def _closed(line):
    raise RuntimeError("a forked child cannot call back or answer")


def encode(value):
    """A message as a line. Raises TypeError or ValueError for what JSON cannot say."""
    try:
        text = _strict(value)
    except ValueError:
        text = _strict(_spelled(value, 0))
    return text.encode("ascii") + b"\n"


def _other(value):
    """What json asks for values it does not know."""
    for name in ("to_json", "tolist"):
        method = getattr(value, name, None)
        if callable(method):
            return method()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(
        f"a result holds a {type(value).__name__}, which JSON cannot say; "
        "return numbers, strings, lists or dicts"
    )


_strict = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=True, default=_other).encode


def _spelled(value, depth):
    """value with NaN and infinities as strings. Only messages that have some come here."""
    if depth > 200:
        raise ValueError("a result is nested deeper than 200, or contains itself")
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {k: _spelled(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_spelled(v, depth + 1) for v in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return _spelled(_other(value), depth + 1)
