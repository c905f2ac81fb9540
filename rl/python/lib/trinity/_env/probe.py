"""What is found out of an environment before it is played."""

import copy

from trinity._env import load, rows, text
from trinity._env.turn import Draws, turn

_SEED = 1
_ACTION = "\\boxed{1}"  # where there is no random player


def describe(args, call):
    """Makes an environment and tries it: {"params", "first", "again", "copies", "why"}.

    first and again are what two resets with one seed show, with a step between them; copies says whether deepcopy gives
    an environment that continues as the original does, and why says why not. Each of the trial's steps may take as long
    as a call.
    """
    with turn(call, args.get("parallel")) as t:
        draws = Draws()
        with t.drawing(draws):
            env = load.make(args["kind"], args["name"], args.get("kwargs") or {})
        out = {"params": load.integers(args["kind"], args["name"])}
        call.begins()
        with t.drawing(draws):
            out["first"] = text.first(load.reset(env, _SEED))
        call.begins()
        with t.drawing(Draws()):
            action = _action(env)
        with t.drawing(draws):
            _answer(env, action)
        call.begins()
        with t.drawing(draws):
            out["again"] = text.first(load.reset(env, _SEED))
        out["why"] = _copies(env, draws, t, action, call)
        out["copies"] = out["why"] == ""
        close = getattr(env, "close", None)
        if callable(close):
            close()
    return out


def _action(env):
    """A random action, or one that many environments understand."""
    try:
        return load.sample(env, _SEED)
    except Exception:
        return _ACTION


def _answer(env, action):
    """What an environment says to an action. That it raises for some is found when it is played."""
    try:
        return text.after(env.step(action))
    except Exception as e:
        return {"raises": f"{type(e).__name__}: {e}"}


def _copies(env, draws, t, action, call):
    """Why an environment cannot be copied; "" if it can. Afterwards it has no episode."""
    try:
        other, theirs = copy.deepcopy(env, rows.memo(env)), draws.copy()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    call.begins()
    with t.drawing(theirs):
        copied = _answer(other, action)
    call.begins()
    with t.drawing(draws):
        own = _answer(env, action)
    return "" if own == copied else f"a copy answers {copied}, the original {own}"
