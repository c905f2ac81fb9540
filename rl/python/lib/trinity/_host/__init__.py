"""The Python side of package rl/python: answers calls from a pipe. Its Go package comment has the protocol.

    from trinity._host import calls

    def double(args, call):             # runs on a thread
        return 2 * args["x"]

    async def ask(args, call):          # runs on the event loop
        return await call.up_async("model.chat", {"messages": args["messages"]})

    calls["demo.double"] = double
    calls["demo.ask"] = ask

A function that returns a coroutine runs on a thread up to there, and the coroutine on the event loop. What is raised is
the call's error. Results are what json can say, besides NaN and infinities (sent as strings), sets, and whatever has
tolist() (arrays, tensors, their scalars) or to_json().
"""

import sys

from trinity._host.call import Call, Cancelled, UpError, current

calls = {}
"""Name → function(args: dict, call: Call) → result. Modules that the Go side names fill it when imported."""

_output = None  # output.Output, while a host runs


def log(level, text):
    """Logs lines, as of the current call. level is debug, info, warning or error."""
    if _output is None:
        print(text, file=sys.stderr)
    else:
        _output.write(level, text if text.endswith("\n") else text + "\n")


__all__ = ["Call", "Cancelled", "UpError", "calls", "current", "log"]
