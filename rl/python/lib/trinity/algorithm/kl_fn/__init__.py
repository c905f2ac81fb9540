"""See trinity.algorithm."""

from trinity import _missing
from trinity.algorithm.kl_fn.kl_fn import KL_FN, KLFn

__getattr__ = _missing.attribute(__name__)
__all__ = ["KL_FN", "KLFn"]
