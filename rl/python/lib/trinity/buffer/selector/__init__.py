"""The registry of selectors, which choose the order of tasks."""

from trinity import _missing
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)
__all__ = ["SELECTORS"]

SELECTORS = Refusing("selectors", "the selector", "name selector_type: sequential, shuffle, random, offline_easy2hard or "
                     "difficulty_based, or bring one from a Go program (examples/plugin)")
