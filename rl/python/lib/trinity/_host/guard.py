"""Kills process groups when its input ends: whoever wrote it is gone. Lines name them: +PID and -PID."""

import os
import signal
import sys

groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass  # gone, or not ours any more
