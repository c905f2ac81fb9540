"""GEM gives a program that a model wrote ten seconds, and the grader of an answer one. A busy machine takes longer to start
either, and the same answer then has the reward 0 or 1. Both sides of a comparison import this: all such limits are 600
times as long."""

import multiprocessing.pool
import signal

import gem.utils.sandbox

PATIENCE = 600

gem.utils.sandbox.subprocess_run.__defaults__ = (None, 10 * PATIENCE)  # stdin, timeout

_alarm, _get = signal.alarm, multiprocessing.pool.ApplyResult.get
signal.alarm = lambda seconds: _alarm(PATIENCE * seconds)  # the graders' own limits
multiprocessing.pool.ApplyResult.get = lambda self, timeout=None: _get(self, timeout and PATIENCE * timeout)
