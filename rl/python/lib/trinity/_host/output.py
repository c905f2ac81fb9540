"""sys.stdout and sys.stderr that know the call they are used in, with a limit for each call."""

import io
import os
import time
from threading import RLock

from trinity._host.call import current

PER_CALL = 1 << 20
"""Characters that one call may print and log."""
BURST = 1 << 20
RATE = 1 << 15
"""Characters outside any call: at once, and per second."""
CHUNK = 1 << 14
"""Characters of one log message. Longer lines are cut."""


class Lines:
    """Collects what is printed in one call (or outside of any: of is None) and sends whole lines."""

    __slots__ = ("_send", "_of", "_rest", "_room", "_dropped", "_filled", "_lock")

    def __init__(self, send, of=None):
        self._send = send  # function(dict)
        self._of = of
        self._rest = {}  # level → texts without their newline yet
        self._room = PER_CALL if of is not None else BURST
        self._dropped = 0
        self._filled = time.monotonic()
        self._lock = RLock()  # a __del__ may print while this prints

    def write(self, level, text):
        if self._room <= 0 and self._of is not None:
            self._dropped += len(text)  # cheap, as a loop that prints too much does so a million times
            return
        with self._lock:
            self._add(level, text)

    def close(self):
        """Sends what is left, and how much was left out."""
        with self._lock:
            self._end()

    def _add(self, level, text):
        size = len(text)
        if self._of is None:
            self._refill()
        if size > self._room:
            self._drop(size - self._room)
            text = text[: self._room]
        self._room -= len(text)
        parts = self._rest.setdefault(level, [])
        parts.append(text)
        if len(text) < CHUNK and "\n" not in text and len(parts) < 1000:
            return
        lines, newline, rest = "".join(parts).rpartition("\n")
        parts.clear()
        if newline:
            self._emit(level, lines)
        if len(rest) >= CHUNK:
            self._emit(level, rest)
        elif rest:
            parts.append(rest)

    def _end(self):
        for level, parts in self._rest.items():
            if parts:
                self._emit(level, "".join(parts))
        self._rest.clear()
        if self._dropped:
            self._note(f"{self._dropped} characters of output were dropped")
            self._dropped = 0

    def _refill(self):
        now = time.monotonic()
        self._room = min(BURST, self._room + int((now - self._filled) * RATE))
        self._filled = now
        if self._dropped and self._room > BURST // 2:
            self._end()

    def _drop(self, n):
        if not self._dropped:
            what = "of this call " if self._of is not None else ""
            self._note(f"output {what}beyond the limit is dropped from here on")
        self._dropped += n

    def _note(self, text):
        self._send({"log": {"of": self._of or 0, "level": "warning", "text": text}})

    def _emit(self, level, text):
        for i in range(0, len(text), CHUNK):
            self._send({"log": {"of": self._of or 0, "level": level, "text": text[i : i + CHUNK]}})


class Output:
    """Sends all output to the log, by call."""

    def __init__(self, send):
        self._send = send
        self._outside = Lines(send)
        self._wired = True

    def write(self, level, text):
        if not self._wired:
            os.write(2, text.encode("utf-8", "backslashreplace"))
            return
        call = current()
        if call is None or call.ended:
            self._outside.write(level, text)
            return
        if call.log is None:
            call.log = Lines(self._send, call.id)
        call.log.write(level, text)

    def unwire(self):
        """For a forked child: it must not write to the pipe of its parent."""
        self._wired = False


class Stream(io.TextIOBase):
    """A text stream in place of sys.stdout or sys.stderr."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, output, level):
        self._output = output
        self._level = level
        self.buffer = io.FileIO(2, "w", closefd=False)  # not buffered: nothing is lost in a crash
        self.name = f"<{level}>"

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._output.write(self._level, text)
        return len(text)

    def fileno(self):
        return 2  # for children that are given sys.stdout

    def writable(self):
        return True
