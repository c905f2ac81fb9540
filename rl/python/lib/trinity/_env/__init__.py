"""Environments: the calls env.describe, env.make, env.reset, env.step, env.sample, env.fork and env.close.

An environment lives in this process under a number. What it draws from random and numpy.random is its own: both have the
state of its episode while it runs (see turn.py).
"""

import copy
import itertools

from trinity._env import load, probe, rows, text
from trinity._env.turn import Draws, turn
from trinity._host import calls

_made = {}  # number → Made
_numbers = itertools.count(1)


class Made:
    """An environment and the state of its draws."""

    def __init__(self, env, draws):
        self.env = env
        self.draws = draws


def _make(args, call):
    with turn(call, args.get("parallel")) as t:
        draws = Draws()
        with t.drawing(draws):
            made = Made(load.make(args["kind"], args["name"], args.get("kwargs") or {}), draws)
    number = next(_numbers)
    _made[number] = made
    return number


def _reset(args, call):
    made = _made[args["env"]]
    with turn(call, args.get("parallel")) as t, t.drawing(made.draws):
        return text.first(load.reset(made.env, args["seed"]))


def _step(args, call):
    made = _made[args["env"]]
    with turn(call, args.get("parallel")) as t, t.drawing(made.draws):
        return text.after(made.env.step(args["action"]))


def _sample(args, call):
    """A random action, drawn from a seed. It changes nothing that later steps draw."""
    made = _made[args["env"]]
    with turn(call, args.get("parallel")) as t, t.drawing(Draws()):
        return load.sample(made.env, args["seed"])


def _fork(args, call):
    """A copy, under a number of its own."""
    made = _made[args["env"]]
    with turn(call, args.get("parallel")):
        copied = Made(copy.deepcopy(made.env, rows.memo(made.env)), made.draws.copy())
    number = next(_numbers)
    _made[number] = copied
    return number


def _close(args, call):
    made = _made.pop(args["env"], None)
    close = getattr(made and made.env, "close", None)
    if callable(close):
        with turn(call, args.get("parallel")) as t, t.drawing(made.draws):
            close()


calls.update({
    "env.describe": probe.describe, "env.make": _make, "env.reset": _reset, "env.step": _step, "env.sample": _sample,
    "env.fork": _fork, "env.close": _close,
})
