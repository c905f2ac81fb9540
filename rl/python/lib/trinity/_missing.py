"""What Trinity-RFT has and this package has not: an ImportError with the name and what to do instead."""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder

_ADVICE = (
    ("trinity.algorithm", "losses, advantages and sample strategies are computed by the trinity binary, without torch: "
     "name one of its own under algorithm (docs/reference/algorithms.md), or write one in Go (examples/plugin)"),
    ("trinity.trainer", "the trainer is part of the trinity binary; choose its settings in the YAML file"),
    ("trinity.explorer", "the explorer is part of the trinity binary; a program that samples for itself uses the URL "
     "of mode serve or of a rollout (docs/reference/endpoint.md)"),
    ("trinity.manager", "the synchronizer and the checkpoints are the trinity binary's"),
    ("trinity.buffer.storage", "queues and databases are the trinity binary's; name storage_type: queue, sql or file in the "
     "YAML file"),
    ("trinity.buffer.writer", "experiences are written by the trinity binary; return them from the workflow"),
    ("trinity.buffer.pipelines", "pipelines run in the trinity binary; register an ExperienceOperator"),
    ("trinity.buffer.selector", "tasks are selected by the trinity binary; name selector_type: sequential, shuffle, "
     "random, offline_easy2hard or difficulty_based"),
    ("trinity.service", "Data-Juicer is not used here; register an ExperienceOperator that does the work"),
    ("trinity.cli", "the command line is the trinity binary: trinity run --config FILE"),
    ("trinity.common.models", "models are run by the trinity binary; a workflow has self.model (docs/guide/python.md)"),
    ("trinity.common.workflows.envs", "copy the environment's workflow into your plug-in folder and import it from "
     "there"),
    ("trinity.common.workflows", "copy the workflow's file into your plug-in folder and import it from there"),
)
_INSTALL = "; or install upstream's files beside: pip install --no-deps trinity-rft"
_ELSE = ("copy the file that defines it into your plug-in folder, or tell us that it is needed; docs/guide/python.md lists "
         "what there is")


def advice(name):
    """What to do about a name that is not here."""
    for prefix, text in _ADVICE:
        if name == prefix or name.startswith((prefix + ".", prefix + " ")):
            return text + (_INSTALL if name.startswith(_THEIRS) else "")
    return _ELSE


def error(name):
    """The ImportError for a dotted name."""
    return ImportError(f"{name} is not part of the package trinity that the trinity binary brings: {advice(name)}",
                       name=name)


def attribute(module):
    """A module's __getattr__: `from module import what` fails with the reason."""

    def __getattr__(what):
        path = vars(sys.modules[module]).get("__path__") if module in sys.modules else None
        if what.startswith("__") or path and (PathFinder.find_spec(f"{module}.{what}", path) or theirs(
                f"{module}.{what}")):
            raise AttributeError(f"module {module!r} has no attribute {what!r}")  # or a module that import still loads
        raise error(f"{module}.{what}")

    return __getattr__


_THEIRS = ("trinity.common.workflows.", "trinity.common.rewards.", "trinity.common.models.mm_utils", "trinity.utils.",
           "trinity.buffer.operators.")
"""What is taken from an installed trinity-rft where this package has it not: files that ask the model and grade, and run
on the classes here. The rest needs what only upstream's own loops have."""


def theirs(name):
    """The spec of a module of an installed trinity-rft, None if there is none or it cannot run here."""
    if not name.startswith(_THEIRS):
        return None
    ours = sys.modules["trinity"].__path__[0]
    above = [p for p in sys.path if os.path.join(p, "trinity") != ours]
    installed = PathFinder.find_spec("trinity", above)
    if installed is None or not installed.submodule_search_locations:
        return None
    folder = os.path.join(list(installed.submodule_search_locations)[0], *name.split(".")[1:-1])
    return PathFinder.find_spec(name, [folder])


class _Finder(MetaPathFinder):
    """The last finder: what nobody found below trinity is missing."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith("trinity.") and not fullname.startswith(("trinity._", "trinity.plugins.")):
            found = theirs(fullname)
            if found is None:
                raise error(fullname)
            return found
        return None


def install():
    """Adds the finder once."""
    if not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.append(_Finder())
