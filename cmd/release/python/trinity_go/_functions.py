"""Serves functions of this process to the run: plain ones on the thread that trains, coroutines on a loop beside it."""

from __future__ import annotations

import asyncio
import inspect
import json
import queue
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

Function = Callable[..., Any]


class Call(Future[Any]):
    """A call of a function, whose result another thread waits for."""

    def __init__(self, function: Function, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.function, self.given = function, given

    def fail(self, e: BaseException) -> None:
        """Sets the exception of a call that has no result yet."""
        if not self.done():
            self.set_exception(e)


class Functions:
    """Listens on a local socket, which the holder of a key may use, while the context lasts."""

    def __init__(self, functions: Mapping[str, Function], events: queue.Queue[tuple[str, Any]]) -> None:
        self._functions, self._events, self._key = functions, events, secrets.token_bytes(32)
        self._refusing = self._closed = False
        self._loop = asyncio.new_event_loop()
        self._waiting: set[Call] = set()

    def __enter__(self) -> Functions:
        self._listener = Listener(authkey=self._key, backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._coroutines, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.give_up("the run has ended")
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        try:
            Client(self._listener.address, authkey=self._key).close()  # wakes accept
        except OSError:
            pass
        self._listener.close()

    def env(self) -> dict[str, str]:
        """What the file of the run needs to ask."""
        return {"TRINITY_GO_CALLS": str(self._listener.address), "TRINITY_GO_KEY": self._key.hex()}

    def give_up(self, reason: str) -> None:
        """Lets all calls that wait, and those to come, fail."""
        self._refusing = True
        for call in list(self._waiting):
            call.fail(RuntimeError(reason))

    def _coroutines(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, EOFError):
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        try:
            while True:
                connection.send_bytes(self._answer(json.loads(connection.recv_bytes())))
        except (EOFError, OSError):
            connection.close()

    def _answer(self, message: dict[str, Any]) -> bytes:
        if "describe" in message:
            return _encoded({"result": _parameters(self._functions[message["describe"]])})
        if self._refusing:
            return _encoded({"error": "the run is being stopped"})
        call = Call(self._functions[message["call"]], message["given"])
        self._waiting.add(call)
        if inspect.iscoroutinefunction(call.function):
            asyncio.run_coroutine_threadsafe(self._awaited(call), self._loop)
        else:
            self._events.put(("call", call))
        call.exception()  # waits
        self._waiting.discard(call)
        try:
            return _encoded({"result": call.result()})
        except BaseException as e:
            if call.exception() is None:  # what it returned cannot be said
                returned = f"{message['call']} returned {call.result()!r}"
                self._events.put(("failed", TypeError(f"{returned}; a reward is a number, or a dict of numbers")))
            return _encoded({"error": f"{type(e).__name__}: {e}"})

    async def _awaited(self, call: Call) -> None:
        try:
            call.set_result(await call.function(**call.given))
        except Exception as e:
            self._events.put(("failed", e))
            call.fail(e)


def _encoded(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, default=lambda x: x.tolist()).encode()  # arrays, tensors and their numbers


def _parameters(function: Function) -> list[dict[str, Any]]:
    """The parameters as the run's file repeats them, so that the run fills them in as those of a function in a file."""
    return [{"name": p.name, "kind": p.kind.name, "default": p.default is not p.empty}
            for p in inspect.signature(function).parameters.values()]


def named(reward: Any, file: Path) -> tuple[str | None, dict[str, Function]]:
    """The name of a reward in the configuration, and the functions that this process serves."""
    if reward is None or isinstance(reward, str):
        return reward, {}
    functions: dict[str, Function] = {}
    for function in [reward] if callable(reward) else list(reward):
        if not callable(function):
            raise TypeError(f"reward is {function!r}; it must be a function, a list of functions, or a name")
        name = getattr(function, "__name__", "reward").strip("_<>")
        if name in functions:
            raise ValueError(f"two reward functions have the name {name}; give each a name of its own")
        functions[name] = function
    return " + ".join(f"{file}:{name}" for name in functions), functions
