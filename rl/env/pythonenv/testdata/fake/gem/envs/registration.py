import importlib
from dataclasses import dataclass


@dataclass
class EnvSpec:
    id: str
    entry_point: str
    kwargs: dict


ENV_REGISTRY = {}


def register(env_id, entry_point, **kwargs):
    ENV_REGISTRY[env_id] = EnvSpec(env_id, entry_point, kwargs)


def make(env_id, **kwargs):
    spec = ENV_REGISTRY[env_id]
    module, name = spec.entry_point.split(":")
    return getattr(importlib.import_module(module), name)(**{**spec.kwargs, **kwargs})
