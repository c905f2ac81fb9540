"""reward.call: grades one answer for a workflow of the Go side."""

import functools
import inspect
import json
import math

from trinity import _seam
from trinity._plugin import wire
from trinity.common.rewards import REWARD_FUNCTIONS

_kinds = {}  # name, or name and arguments as JSON → _Kind


class _Kind:
    """A reward function with its arguments: the instances that nobody uses at the moment, and what their calls take."""

    def __init__(self, name, args):
        self._name = name
        self._args = args
        self._idle = []
        self._known = None  # names of parameters
        self._any = False

    def take(self):
        try:
            return self._idle.pop()
        except IndexError:
            cls = REWARD_FUNCTIONS.get(self._name)
            fn = cls(**self._args) if inspect.isclass(cls) else functools.partial(cls, **self._args)
        if self._known is None:
            self._look(fn)
        return fn

    def give(self, fn):
        self._idle.append(fn)

    def _look(self, fn):
        try:
            known = inspect.signature(fn).parameters
        except (TypeError, ValueError):
            known = {"response": None, "truth": None}
        self._any = any(p is not None and p.kind is p.VAR_KEYWORD for p in known.values())
        self._known = frozenset(known)

    def wanted(self, given):
        """Of what is given what the function names, or all if it takes any."""
        if self._any:
            return given
        return {k: v for k, v in given.items() if k in self._known}


def call(args, call):
    """args: name, args (reward_fn_args), given (what the workflow hands over). The answer is a dict of parts."""
    name, given = args["name"], args["args"]
    key = (name, json.dumps(given, sort_keys=True)) if given else name
    kind = _kinds.get(key)
    if kind is None:
        kind = _kinds.setdefault(key, _Kind(name, given or {}))
    fn = kind.take()
    try:
        with _seam.within(call):
            parts = fn(**kind.wanted(args["given"]))
        if inspect.iscoroutine(parts):
            return _later(parts, name, call)
        return _parts(parts, name)
    finally:
        kind.give(fn)


async def _later(parts, name, call):
    with _seam.within(call):
        return _parts(await parts, name)


def _parts(parts, name):
    if isinstance(parts, (int, float)) or hasattr(parts, "item"):
        return {"score": wire.number(parts)}
    if not isinstance(parts, dict):
        raise TypeError(f"{name} returned {type(parts).__name__}; a reward function must return a dict of numbers")
    out = {}
    for k, v in parts.items():
        if type(v) is float and math.isfinite(v) and type(k) is str:
            out[k] = v
            continue
        if not isinstance(v, (int, float)) and not hasattr(v, "item"):
            raise TypeError(f"{name} returned {v!r} as its part {k!r}; each part must be a number")
        out[str(k)] = wire.number(v)
    return out
