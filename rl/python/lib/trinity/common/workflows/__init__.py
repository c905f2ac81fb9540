"""Workflows: the registry, and the base classes."""

from trinity import _missing
from trinity.common.workflows.workflow import WORKFLOWS, MultiTurnWorkflow, SimpleWorkflow, Task, Workflow

__all__ = ["WORKFLOWS", "Task", "Workflow", "SimpleWorkflow", "MultiTurnWorkflow"]
_missing_here = _missing.attribute(__name__)


def __getattr__(name):
    """The classes that earlier versions had here."""
    import importlib

    for module in ("workflow", "customized_math_workflows", "eval_workflow", "step_wise_workflow"):
        found = vars(importlib.import_module(f"trinity.common.workflows.{module}")).get(name)
        if isinstance(found, type):
            return found
    return _missing_here(name)
