"""A call in progress, and the calls back to Go that it makes."""

import asyncio
import contextvars
import os
import threading
import traceback
from _thread import allocate_lock

_current = contextvars.ContextVar("trinity_call", default=None)


def current():
    """The call that this code runs in, or None: on threads that user code started itself it is not known."""
    return _current.get()


class Cancelled(BaseException):
    """Raised by Call.up when the Go side gave the call up. Like asyncio.CancelledError it is no Exception."""


class UpError(Exception):
    """What a call back failed with. type and message are the Go side's."""

    def __init__(self, type, message):
        super().__init__(message)
        self.type = type
        self.message = message


class Call:
    """One call: its id and name, and ways to call back. It lives until its result is sent."""

    __slots__ = ("id", "name", "cancelled", "log", "thread", "task", "ended", "_ups", "_host")

    def __init__(self, host, id, name):
        self.id = id
        self.name = name
        self.cancelled = False
        self.ended = False
        self.log = None  # output.Lines, made by the first print
        self.thread = None  # the thread's id while a function runs
        self.task = None  # the asyncio.Task while a coroutine runs
        self._ups = None
        self._host = host

    def waits(self):
        """Says that the call waits for others: its time limit does not run until begins."""
        self._host.post({"waits": self.id})

    def begins(self):
        """Says that the call runs from here: its time limit begins anew. Raises Cancelled if the call was given up."""
        if self.cancelled:
            raise Cancelled()
        self._host.post({"begins": self.id})

    def up(self, name, args):
        """Calls back and waits. Raises UpError if that fails, Cancelled when the call was given up."""
        slot = _Waiting()
        self._begin(slot, name, args)
        slot.lock.acquire()
        return slot.answer()

    async def up_async(self, name, args):
        """The same for coroutines, on any event loop."""
        loop = asyncio.get_running_loop()
        slot = _Awaiting(loop, loop.create_future())
        number = self._begin(slot, name, args)
        try:
            await slot.future
        finally:
            self._host.forget_up(number)
        return slot.answer()

    def _begin(self, slot, name, args):
        if self.cancelled:
            raise Cancelled()
        if self.ended:
            raise RuntimeError(f"call back {name} after the call {self.name} has ended")
        return self._host.begin_up(self, slot, name, args)


class _Waiting:
    """A call back that a thread waits for."""

    __slots__ = ("lock", "message")

    def __init__(self):
        self.lock = allocate_lock()
        self.lock.acquire()

    def settle(self, message):
        self.message = message
        self.lock.release()

    def answer(self):
        message = self.message
        if message is None:
            raise Cancelled()
        error = message.get("error")
        if error is not None:
            raise UpError(error.get("type", ""), error.get("message", ""))
        return message.get("result")


class _Awaiting(_Waiting):
    """A call back that a coroutine awaits."""

    __slots__ = ("loop", "future")

    def __init__(self, loop, future):
        self.loop = loop
        self.future = future

    def settle(self, message):
        self.message = message
        try:
            self.loop.call_soon_threadsafe(self._wake)
        except RuntimeError:  # its loop is closed: nobody awaits it any more
            pass

    def _wake(self):
        if not self.future.done():
            self.future.set_result(None)


def error_of(exc):
    """An exception as the protocol's error. The frames of this package at the top are left out."""
    tb = exc.__traceback__
    if isinstance(exc, MemoryError):
        traceback.clear_frames(tb)  # lets go of what filled the memory, so that there is some for what follows
    raised = tb is not None
    own = os.path.dirname(__file__)
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(own):
        tb = tb.tb_next
    try:
        message = str(exc)
    except Exception:  # a broken __str__ is no reason to lose the error
        message = "(its __str__ failed)"
    trace = "".join(traceback.format_exception(type(exc), exc, tb)) if raised else ""
    return {"type": type(exc).__name__, "message": _cut(message), "traceback": _cut(trace)}


def _cut(text, most=1 << 16):
    """text without its middle, if it is very long."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n… {len(text) - most} characters …\n{text[-most // 2 :]}"


def stack_of(call, frames):
    """Where a call is, as text. frames is sys._current_frames()."""
    if call.task is not None:
        stack = [traceback.extract_stack(frame, 1)[0] for frame in _awaited(call.task.get_coro())]
    elif call.thread in frames:
        stack = traceback.extract_stack(frames[call.thread])
    else:
        return ""
    own = (os.path.dirname(__file__), threading.__file__)
    return "".join(traceback.format_list([f for f in stack if not f.filename.startswith(own)]))


def _awaited(awaitable):
    """The frames of a coroutine and of those it awaits, outermost first."""
    while awaitable is not None:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(awaitable, kind + "_frame", None)
            if frame is not None:
                yield frame
                break
        awaitable = getattr(awaitable, "cr_await", None) or getattr(awaitable, "gi_yieldfrom", None)
