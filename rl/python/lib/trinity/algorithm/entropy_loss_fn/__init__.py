"""See trinity.algorithm."""

from trinity import _missing
from trinity.algorithm.entropy_loss_fn.entropy_loss_fn import ENTROPY_LOSS_FN, EntropyLossFn

__getattr__ = _missing.attribute(__name__)
__all__ = ["ENTROPY_LOSS_FN", "EntropyLossFn"]
