"""Whose turn it is: environments of one process run one at a time, as in upstream's own loop, because many keep state
in modules (Sokoban's generator) and draw from the global random and numpy.random. Each has a state of both of its own.

Those that are named parallel run at once instead, and share the global random states.

Waiting for the turn is not part of a call's time. If a call was given up and runs on, nobody else could ever run here,
so the process ends; the others' episodes are played again in another.
"""

import contextlib
import functools
import random
import threading
import time

from trinity._host import Cancelled, limits

STUCK = 2.0
"""Seconds that a call which was given up may run on while others wait."""

_lock = threading.Lock()
_holder = None  # (call, since) – the call that has the lock


class Draws:
    """The states of random and of numpy.random, initially of seed 0."""

    def __init__(self):
        self.plain = random.Random(0).getstate()
        self.numpy = None  # seed 0

    def copy(self):
        other = Draws.__new__(Draws)
        other.plain, other.numpy = self.plain, self.numpy  # neither is changed in place
        return other

    @contextlib.contextmanager
    def installed(self):
        """Within, random and numpy.random continue from here."""
        plain, before = random.getstate(), _numpy_state()
        random.setstate(self.plain)
        _set_numpy(self.numpy)
        try:
            yield
        finally:
            self.plain, self.numpy = random.getstate(), _numpy_state()
            random.setstate(plain)
            if before is not None:
                _set_numpy(before)


@functools.cache
def numpy_random():
    """numpy.random, or None where there is no numpy. It is imported before the first environment is made: NumPy 2 loads
    it when it is first used, and what draws from it then must have been seeded."""
    try:
        import numpy.random
    except Exception:  # there is none, or one that cannot be used
        return None
    return numpy.random


def _numpy_state():
    numpy = numpy_random()
    return numpy.get_state() if numpy else None


def _set_numpy(state):
    numpy = numpy_random()
    if numpy is None:
        return
    if state is None:
        numpy.seed(0)
    else:
        numpy.set_state(state)


class _Turn:
    def __init__(self, exclusive):
        self.exclusive = exclusive

    def drawing(self, draws):
        return draws.installed() if self.exclusive else contextlib.nullcontext()


@contextlib.contextmanager
def turn(call, parallel=False):
    """Waits for the turn and has it within."""
    global _holder
    if parallel:
        yield _Turn(False)
        return
    if not _lock.acquire(blocking=False):
        call.waits()
        while not _lock.acquire(timeout=0.2):
            if call.cancelled:
                raise Cancelled()
            _give_up_stuck()
        try:
            call.begins()
        except BaseException:
            _lock.release()
            raise
    _holder = (call, [])
    try:
        yield _Turn(True)
    finally:
        _holder = None
        _lock.release()


def _give_up_stuck():
    """Ends the process if the call that runs was given up long ago."""
    holder = _holder
    if holder is None or not holder[0].cancelled:
        return
    since = holder[1]
    since.append(time.monotonic())
    if since[-1] - since[0] > STUCK:
        limits.give_up(TimeoutError(f"{holder[0].name} was given up and still runs, while other environments wait"))
