"""Threads for functions that are not coroutines. They are started when work waits and nobody is idle, and stay."""

import threading
from _thread import allocate_lock
from collections import deque
from queue import SimpleQueue

STACK = 8 << 20
"""Bytes of address space for a thread's stack, as the main thread has them: deep recursion in C code (json, re, pickle)
then fails as it does there, and not with a crash as in 512 KiB (Python 3.13, nested JSON). Only what is touched takes
memory, some ten KiB."""


class Pool:
    """Runs jobs, callables without arguments, in the order they come as far as there are threads."""

    def __init__(self, limit, grown=None):
        self._limit = limit
        self._grown = grown  # called with the number of threads before one is started
        self._jobs = SimpleQueue()
        self._idle = deque()  # one token for every thread that waits
        self._count = 0
        self._open = 0  # jobs that run or wait
        self._lock = allocate_lock()
        threading.stack_size(STACK)

    def full(self):
        """Whether the next job has to wait for another to end. Only who puts jobs may ask."""
        return self._open >= self._limit

    def put(self, job):
        with self._lock:
            self._open += 1
        self._jobs.put(job)
        if not self._idle:
            self._grow()

    def _grow(self):
        """Starts a thread if there may be one more."""
        with self._lock:
            if self._count >= self._limit:
                return
            self._count += 1
            number = self._count
        try:
            if self._grown:
                self._grown(number)
            threading.Thread(target=self._work, name=f"call-{number}", daemon=True).start()
        except Exception:  # no more threads to be had: those there are do the work
            with self._lock:
                self._count -= 1
            if self._count == 0:
                raise

    def _work(self):
        idle, jobs = self._idle, self._jobs
        while True:
            idle.append(None)
            job = jobs.get()
            idle.pop()
            if not idle and not jobs.empty():
                self._grow()  # this job may take long; somebody must take the next
            job()  # never raises: what a call raises is its answer
            del job  # what it holds is not needed while waiting
            with self._lock:
                self._open -= 1
