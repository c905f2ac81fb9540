"""What the process is allowed and how it ends."""

import atexit
import os
import signal
import sys
import threading
import time
import traceback
from importlib.machinery import PathFinder

from trinity._host.pool import STACK

try:
    import resource
except ImportError:  # Windows
    resource = None

LEAVE = 2.0
"""Seconds that exit handlers have when the input ends."""


class Memory:
    """Bounds the memory of the process. Stacks count as memory though hardly touched, so each thread adds its own."""

    def __init__(self, size):
        self._size = size  # bytes; 0 means no limit
        # RLIMIT_DATA counts private writable memory on Linux. RLIMIT_AS would also count what is only reserved, as
        # PyTorch and CUDA do by the hundred GiB.
        if size and resource is None:
            self._size = 0
        elif size:
            self._kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS

    def start(self, log):
        """Sets the limit. A system that has none says so."""
        try:
            self.threads(0)
        except (ValueError, OSError) as e:
            self._size = 0
            log("warning", f"the memory of Python cannot be limited here: {e}")

    def threads(self, count):
        """Sets the limit for count threads of the pool."""
        if not self._size:
            return
        soft = self._size + (count + 1) * STACK
        hard = resource.getrlimit(self._kind)[1]
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(self._kind, (soft, hard))


def installed(lib, log):
    """Says once that a package trinity of another origin is hidden by ours."""
    spec = PathFinder.find_spec("trinity", [p for p in sys.path if p != lib])
    if spec is None:
        return
    where = spec.origin or ", ".join(spec.submodule_search_locations or [])
    log("warning", f"the package trinity at {where} is not used: plug-in files get the one that this program carries")


def give_up(exc):
    """Ends the process when it cannot continue: its calls fail with this text."""
    try:
        os.write(2, "".join(traceback.format_exception(exc)).encode("utf-8", "backslashreplace"))
    finally:
        os._exit(70)


def leave():
    """Ends the process and its children when Go closed the pipe or died: exit handlers first, if they end in time."""
    threading.Thread(target=_kill_later, daemon=True).start()
    try:
        atexit._run_exitfuncs()
    finally:
        _kill()


def _kill_later():
    time.sleep(LEAVE)
    _kill()


def _kill():
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)
