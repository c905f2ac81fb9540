"""plugin.load: imports plug-in folders and says what is registered."""

import inspect
import os
import sys
import traceback

from trinity.algorithm import (ADVANTAGE_FN, ALGORITHM_TYPE, ENTROPY_LOSS_FN, KL_FN, POLICY_LOSS_FN, SAMPLE_STRATEGY)
from trinity.buffer.operators import EXPERIENCE_OPERATORS
from trinity.buffer.reader import READER
from trinity.buffer.schema import FORMATTER, SQL_SCHEMA
from trinity.buffer.selector import SELECTORS
from trinity._plugin.function import Sum
from trinity.common.rewards import REWARD_FUNCTIONS
from trinity.common.workflows import WORKFLOWS, Workflow
from trinity.utils.monitor import MONITOR
from trinity.utils.plugin_loader import files, load_from_file
from trinity.utils.registry import place

_REFUSED = (ADVANTAGE_FN, ALGORITHM_TYPE, ENTROPY_LOSS_FN, KL_FN, POLICY_LOSS_FN, SAMPLE_STRATEGY, FORMATTER,
            SQL_SCHEMA, SELECTORS, MONITOR)


def load(args, call):
    """args: dirs, dotted (the dotted paths that a configuration names by their kinds), and functions (the terms of rewards
    that are bare functions, by their names)."""
    errors = []
    for folder in args.get("dirs") or []:
        for path in files(folder):
            try:
                load_from_file(path)
            except BaseException as e:  # sys.exit() in a file is no reason to end the process
                if isinstance(e, KeyboardInterrupt):
                    raise
                errors.append({"file": path, **failure(e, path)})
    dotted = args.get("dotted") or {}
    for kind, registry in (("workflows", WORKFLOWS), ("rewards", REWARD_FUNCTIONS), ("operators", EXPERIENCE_OPERATORS)):
        for name in dotted.get(kind) or []:
            try:
                if kind == "rewards" and name in args["functions"]:
                    registry.register_module(name, Sum(args["functions"][name]), force=True)
                    continue
                cls = registry.get(name)
                if name not in registry.modules:  # one that comes with this package
                    registry.register_module(name, cls)
            except BaseException as e:
                errors.append({"file": name, **failure(e.__cause__ or e, "")})
    return {"workflows": {n: _workflow(n, c) for n, c in WORKFLOWS.modules.items()},
            "rewards": {n: {"place": place(c)} for n, c in REWARD_FUNCTIONS.modules.items()},
            "operators": {n: {"place": place(c)} for n, c in EXPERIENCE_OPERATORS.modules.items()},
            "readers": {n: {"place": place(c)} for n, c in READER.modules.items()},
            "refused": [{"name": n, "what": r.what, "instead": r.instead, "place": place(c)}
                        for r in _REFUSED for n, c in r.modules.items()],
            "errors": errors}


def _workflow(name, cls):
    if not (inspect.isclass(cls) and any(callable(getattr(cls, name, None)) for name in ("run", "run_async", "execute"))):
        return {"place": place(cls), "wrong": "it is no class with run(), run_async() or execute()"}
    return {"place": place(cls), "repeats": bool(getattr(cls, "can_repeat", False)),
            "async": bool(getattr(cls, "is_async", False)), "derived": issubclass(cls, Workflow)}


def failure(e, path):
    """An exception as text, and the line of the file where it came from."""
    line = 0
    if isinstance(e, SyntaxError) and e.lineno:
        line, path = e.lineno, e.filename or path
    else:
        for frame in traceback.extract_tb(e.__traceback__):
            if os.path.abspath(frame.filename) == os.path.abspath(path):
                line = frame.lineno
    return {"line": line, "type": type(e).__name__, "message": _advised(e), "traceback": "".join(
        traceback.format_exception(type(e), e, e.__traceback__))}


def _advised(e):
    text = str(e)
    if isinstance(e, ModuleNotFoundError) and e.name and not e.name.startswith("trinity"):
        return f"{text}; install it in {sys.executable}, or choose another Python with --python or VIRTUAL_ENV"
    return text
