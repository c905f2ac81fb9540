"""See trinity.algorithm."""

from trinity import _missing
from trinity.algorithm.sample_strategy.sample_strategy import SAMPLE_STRATEGY, SampleStrategy

__getattr__ = _missing.attribute(__name__)
__all__ = ["SAMPLE_STRATEGY", "SampleStrategy"]
