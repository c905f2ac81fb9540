"""reward.call: grades one answer for a workflow of the Go side."""

import inspect
import json
import threading

from trinity import _seam
from trinity._plugin import wire
from trinity.common.rewards import REWARD_FUNCTIONS

_idle = {}
_lock = threading.Lock()
_OPTIONAL = ("prompt", "response_token", "with_think", "format_score_coef", "info")


def call(args, call):
    """args: name, args (reward_fn_args), given (what the workflow hands over). The answer is a dict of parts."""
    fn = _take(args["name"], args["args"] or {})
    try:
        with _seam.within(call):
            parts = fn(**_wanted(fn, args["given"]))
        if inspect.iscoroutine(parts):
            return _later(parts, args["name"], call)
        return _parts(parts, args["name"])
    finally:
        _give(args["name"], args["args"] or {}, fn)


async def _later(parts, name, call):
    with _seam.within(call):
        return _parts(await parts, name)


def _take(name, args):
    """An instance that nobody uses at the moment."""
    key = (name, json.dumps(args, sort_keys=True))
    with _lock:
        waiting = _idle.setdefault(key, [])
        if waiting:
            return waiting.pop()
    cls = REWARD_FUNCTIONS.get(name)
    return cls(**args) if inspect.isclass(cls) else cls


def _give(name, args, fn):
    with _lock:
        _idle[(name, json.dumps(args, sort_keys=True))].append(fn)


def _wanted(fn, given):
    """response and truth, and of the rest what the function names, or all if it takes any."""
    try:
        known = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return {k: v for k, v in given.items() if k not in _OPTIONAL}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
    return {k: v for k, v in given.items() if k in known or takes_any or k not in _OPTIONAL}


def _parts(parts, name):
    if isinstance(parts, (int, float)) or hasattr(parts, "item"):
        return {"score": wire.number(parts)}
    if not isinstance(parts, dict):
        raise TypeError(f"{name} returned {type(parts).__name__}; a reward function must return a dict of numbers")
    out = {}
    for k, v in parts.items():
        if not isinstance(v, (int, float)) and not hasattr(v, "item"):
            raise TypeError(f"{name} returned {v!r} as its part {k!r}; each part must be a number")
        out[str(k)] = wire.number(v)
    return out
