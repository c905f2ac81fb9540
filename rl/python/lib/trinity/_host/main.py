"""The host process: reads calls, runs them, answers. The event loop is on the main thread, reading on its own."""

import asyncio
import contextvars
import faulthandler
import importlib
import inspect
import itertools
import json
import os
import sys
import threading
from _thread import allocate_lock

import trinity._host as registry
from trinity._host import limits, output
from trinity._host.call import Call, Cancelled, _current, error_of, stack_of
from trinity._host.pool import Pool
from trinity._host.wire import Wire, encode

PROTOCOL = 1


def main(settings):
    """Runs until the input ends. settings: lib, dirs, threads, memory, line, first."""
    source, sink = _private()
    faulthandler.enable(all_threads=False)  # the stack of a crash goes to stderr, and so into the error
    sys.setswitchinterval(0.001)  # beside four busy calls an empty one takes 8 ms so, and 80 ms with the usual 0.005
    memory = limits.Memory(settings.get("memory") or 0)
    host = Host(Wire(source, sink, settings["line"]), Pool(settings["threads"], memory.threads))
    host.wire.send(b"\n" + encode({"hello": _hello()}))  # on a line of its own, whatever was printed before
    host.redirect()
    memory.start(host.log)
    sys.path[1:1] = settings.get("dirs") or []
    if settings.get("first"):
        limits.installed(settings["lib"], host.log)
    threading.Thread(target=host.read, name="reader", daemon=True).start()
    host.loop_forever()


def _private():
    """The pipes under descriptors that nobody else knows. Prints, of C code and children too, go to stderr."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


def _hello():
    version = ".".join(map(str, sys.version_info[:3]))
    return {"protocol": PROTOCOL, "python": version, "executable": sys.executable, "pid": os.getpid()}


def _import(args, call):
    """Imports the modules that have the functions."""
    for name in args["modules"]:
        importlib.import_module(name)


class Host:
    """The calls in progress and what they wait for."""

    def __init__(self, wire, pool):
        self.wire = wire
        self.pool = pool
        self._calls = {}  # id → Call
        self._jobs = {}  # id → (Call, function, args, whether it waits) of calls that no thread has begun
        self._ups = {}  # number → (Call, slot)
        self._numbers = itertools.count(1)
        self._coroutines = {}  # function → whether it is a coroutine function
        self._own = {"host.import": _import}
        self._loop = None
        self._loop_wanted = allocate_lock()
        self._loop_wanted.acquire()
        self._loop_ready = threading.Event()
        self._loop_lock = allocate_lock()

    # The life of the process.

    def redirect(self):
        self.output = registry._output = output.Output(self.post)
        sys.__stdout__.reconfigure(line_buffering=True)  # who uses it gets his lines into the log too
        sys.stdout = output.Stream(self.output, "info")
        sys.stderr = output.Stream(self.output, "warning")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        """A child of fork has none of the threads: it must neither answer nor log over the pipe."""
        self.wire.close()
        self.output.unwire()

    def log(self, level, text):
        self.post({"log": {"of": 0, "level": level, "text": text}})

    def post(self, message):
        self.wire.send(encode(message))

    def read(self):
        """The reader thread."""
        try:
            for lines in self.wire.lines():
                for line in lines:
                    self._message(json.loads(line.decode()))
            limits.leave()
        except BaseException as e:  # a broken message or no memory: what is left cannot be trusted
            limits.give_up(e)

    def loop_forever(self):
        """The main thread: waits until somebody needs the event loop, then runs it."""
        self._loop_wanted.acquire()
        loop = self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.call_soon(self._loop_ready.set)
        loop.run_forever()

    def loop(self):
        if not self._loop_ready.is_set():
            with self._loop_lock:
                if self._loop_wanted.locked() and not self._loop_ready.is_set():
                    self._loop_wanted.release()
                    self._loop_ready.wait()
        return self._loop

    # Messages.

    def _message(self, m):
        if "call" in m:
            self._begin(m["id"], m["call"], m.get("args") or {})
        elif "up" in m:
            waiting = self._ups.pop(m["up"], None)
            if waiting is not None:
                waiting[1].settle(m)
        elif "cancel" in m:
            self._cancel(m["cancel"])
        else:
            raise ValueError(f"unknown message {m!r:.200}")

    def _begin(self, id, name, args):
        call = Call(self, id, name)
        self._calls[id] = call
        if name == "host.ping":
            self._ping(call)
            return
        fn = registry.calls.get(name) or self._own.get(name)
        if fn is None:
            known = ", ".join(sorted(registry.calls))
            self._answer(call, failed=NameError(f"no call {name!r} here; there are: {known}"))
        elif self._is_coroutine(fn):
            self._spawn(call, fn, args)
        else:
            waits = self.pool.full()
            if waits:
                call.waits()
            self._jobs[id] = call, fn, args, waits
            self.pool.put(lambda: self._job(id))

    def _is_coroutine(self, fn):
        """inspect.iscoroutinefunction, remembered: it takes as long as the rest of a short call."""
        known = self._coroutines.get(fn)
        if known is None:
            known = self._coroutines[fn] = inspect.iscoroutinefunction(fn)
        return known

    def _job(self, id):
        """On a thread of the pool. An error here is one of the host."""
        job = self._jobs.pop(id, None)
        if job is None:  # it was given up
            return
        call, fn, args, waited = job
        try:
            if waited:
                self.post({"begins": id})
            contextvars.copy_context().run(self._run, call, fn, args)
        except BaseException as e:
            limits.give_up(e)

    def _run(self, call, fn, args):
        """The call, in a context of its own."""
        _current.set(call)
        call.thread = threading.get_ident()
        try:
            if call.cancelled:
                raise Cancelled()
            result = fn(args, call)
        except BaseException as e:
            self._answer(call, failed=e)
            return
        finally:
            call.thread = None
        if inspect.iscoroutine(result):
            self._spawn(call, lambda args, call: result, None)
        else:
            self._answer(call, result)

    def _spawn(self, call, fn, args):
        loop = self.loop()
        loop.call_soon_threadsafe(self._start_task, call, fn, args, context=contextvars.copy_context())

    def _start_task(self, call, fn, args):
        _current.set(call)
        call.task = self._loop.create_task(self._await(call, fn, args))  # copies the context, with the call in it

    async def _await(self, call, fn, args):
        try:
            if call.cancelled:  # before there was a task to cancel
                raise Cancelled()
            result = await fn(args, call)
        except BaseException as e:
            self._answer(call, failed=e)
        else:
            self._answer(call, result)
        finally:
            call.task = None

    def _answer(self, call, result=None, failed=None):
        try:
            self._send_answer(call, result, failed)
        except BaseException as e:  # no memory even for this: nobody would ever answer the call
            limits.give_up(e)

    def _send_answer(self, call, result, failed):
        if failed is None:
            try:
                line = encode({"id": call.id, "result": result})
                if len(line) > self.wire.limit:
                    raise ValueError(f"the result has {len(line)} bytes as JSON; the limit is {self.wire.limit}")
            except Exception as e:
                failed = e
        if failed is not None:
            line = encode({"id": call.id, "error": error_of(failed)})
        if call.log is not None:
            call.log.close()
        call.ended = True
        self._calls.pop(call.id, None)
        self.wire.send(line)

    def _ping(self, call):
        """Answers from the reader, and through the event loop if there is one: both are alive."""
        if self._loop is None:
            self._answer(call, True)
        else:
            self._loop.call_soon_threadsafe(self._answer, call, True)

    # Cancelling and calls back.

    def _cancel(self, id):
        call = self._calls.get(id)
        if call is None:
            return
        if self._jobs.pop(id, None) is not None:  # no thread has begun it, and none will
            self._answer(call, failed=Cancelled())
            return
        try:
            stack = stack_of(call, sys._current_frames())
        except Exception:
            stack = ""
        self.post({"where": {"of": id, "stack": stack}})
        call.cancelled = True
        for number, (owner, slot) in list(self._ups.items()):
            if owner is call and self._ups.pop(number, None) is not None:
                slot.settle(None)
        task = call.task
        if task is not None:
            self._loop.call_soon_threadsafe(task.cancel)

    def begin_up(self, call, slot, name, args):
        number = next(self._numbers)
        line = encode({"up": number, "of": call.id, "call": name, "args": args})
        if len(line) > self.wire.limit:
            raise ValueError(f"the call back {name} has {len(line)} bytes as JSON; the limit is {self.wire.limit}")
        self._ups[number] = (call, slot)
        if call.cancelled:
            self._ups.pop(number, None)
            raise Cancelled()
        self.wire.send(line)
        return number

    def forget_up(self, number):
        self._ups.pop(number, None)
