"""See trinity.algorithm."""

from trinity import _missing
from trinity.algorithm.advantage_fn.advantage_fn import ADVANTAGE_FN, AdvantageFn, GroupAdvantage

__getattr__ = _missing.attribute(__name__)
__all__ = ["ADVANTAGE_FN", "AdvantageFn", "GroupAdvantage"]
