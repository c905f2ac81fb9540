"""Calls back to the Go side, for code that does not get its call handed."""

import contextvars

_call = contextvars.ContextVar("trinity_plugin_call", default=None)
_live = {}  # id → call. Each operation on it is atomic.


class within:
    """Marks the code of a with block as part of a call."""

    def __init__(self, call):
        self._call = call

    def __enter__(self):
        self._token = _call.set(self._call)
        _live[id(self._call)] = self._call
        return self._call

    def __exit__(self, *_):
        _live.pop(id(self._call), None)
        _call.reset(self._token)


def call():
    """The call that this code is part of. On threads that a plug-in started itself it is any call in progress, which is
    enough for what does not depend on the call, such as the rewards that the binary brings."""
    mine = _call.get()
    if mine is not None:
        return mine
    for other in list(_live.values()):
        return other
    raise RuntimeError("this can only be used while trinity runs a workflow, a reward function or an operator: not while "
                       "a plug-in file is imported")
