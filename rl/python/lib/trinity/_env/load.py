"""Finding, making and resetting environments of every kind."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import random
import sys
import threading

from trinity._env import rows
from trinity._env.turn import numpy_random

_files = {}  # path → module
_lock = threading.RLock()


def make(kind, name, kwargs):
    """An environment. kind: gem and gymnasium (name is an id), file (FILE.py:Class), module (module:Class).

    kwargs are the constructor's. Two have a meaning of their own: dataset, a path, is read and given as rows; wrappers
    are names of GEM's, separated by commas.
    """
    kwargs = dict(kwargs)
    wrappers = kwargs.pop("wrappers", "")
    if isinstance(kwargs.get("dataset"), str):
        kwargs["dataset"] = rows.read(kwargs["dataset"])
    with _lock:  # imports of environments that run in parallel
        env = _maker(kind, name)(**kwargs)
    if wrappers:
        from gem.wrappers.wrapper_factory import get_wrapper_fns

        for wrap in get_wrapper_fns(wrappers):
            env = wrap(env)
    for method in ("reset", "step"):
        if not callable(getattr(env, method, None)):
            raise TypeError(f"{name} made a {type(env).__name__}, which has no {method}: it is no environment")
    return env


def _maker(kind, name):
    if kind == "gem":
        return _of_gem(name)
    if kind == "gymnasium":
        import gymnasium

        return lambda **kwargs: gymnasium.make(name, **kwargs)
    path, _, member = name.rpartition(":")
    module = _file(path) if kind == "file" else importlib.import_module(path)
    if not hasattr(module, member):
        known = ", ".join(n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__)
        raise AttributeError(f"{path} has no {member}; its classes are: {known or 'none'}")
    return getattr(module, member)


def _of_gem(name):
    try:
        import gem
        from gem.envs.registration import ENV_REGISTRY
        import gem.envs  # fills the registry  # noqa: F401
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(
            f"{e}: python:gem: needs GEM in {sys.executable}: {sys.executable} -m pip install gem-llm"
        ) from None
    if name not in ENV_REGISTRY:
        import difflib

        near = difflib.get_close_matches(name, ENV_REGISTRY, 1)
        hint = f"; the nearest is {near[0]}" if near else ""
        raise ValueError(f"GEM has no environment {name}{hint}")
    return lambda **kwargs: gem.make(name, **kwargs)


def _file(path):
    """The module of a file. Its folder is on sys.path, so that it can import what lies beside it."""
    path = os.path.abspath(path)
    if path in _files:
        return _files[path]
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = f"{stem}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    _files[path] = module
    return module


def integers(kind, name):
    """The parameters of an environment that are numbers, with their values: GEM's registered ones, or the defaults of
    the constructor. What is drawn at every reset (None) is -1."""
    values = {}
    if kind == "gem":
        from gem.envs.registration import ENV_REGISTRY

        values = ENV_REGISTRY[name].kwargs
    elif kind != "gymnasium":
        try:
            signature = inspect.signature(_maker(kind, name))
        except (TypeError, ValueError):
            return {}
        values = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
        return {k: int(v) for k, v in values.items() if isinstance(v, int)}
    return {k: -1 if v is None else int(v) for k, v in values.items() if v is None or isinstance(v, int)}


def reset(env, seed):
    """Resets with a seed. random and numpy.random are seeded for environments that draw from them without a seed of
    their own."""
    random.seed(seed)
    numpy = numpy_random()
    if numpy is not None:
        numpy.seed(seed)
    try:
        parameters = inspect.signature(env.reset).parameters
    except (TypeError, ValueError):
        parameters = {"seed": None}
    takes = "seed" in parameters or any(p and p.kind is p.VAR_KEYWORD for p in parameters.values())
    return env.reset(seed=seed) if takes else env.reset()


def sample(env, seed):
    """A random action of an environment, from a seed."""
    random.seed(seed)
    numpy = numpy_random()
    if numpy is not None:
        numpy.seed(seed)
    for e in _layers(env):  # GEM's wrappers do not pass sample_random_action on
        try:
            if callable(getattr(e, "sample_random_action", None)):
                return str(e.sample_random_action())
        except NotImplementedError:
            continue
    space = getattr(env, "action_space", None)
    if space is None:
        raise NotImplementedError(
            f"{type(env).__name__} has no sample_random_action and no action_space: the random player cannot play it"
        )
    space.seed(seed)
    return str(space.sample())


def _layers(env):
    """An environment and those it wraps, the outermost first."""
    while env is not None:
        yield env
        inner = env.__dict__.get("env") if hasattr(env, "__dict__") else None
        env = inner if inner is not env else None
