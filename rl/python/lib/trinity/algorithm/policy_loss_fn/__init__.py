"""See trinity.algorithm."""

from trinity import _missing
from trinity.algorithm.policy_loss_fn.policy_loss_fn import POLICY_LOSS_FN, PolicyLossFn

__getattr__ = _missing.attribute(__name__)
__all__ = ["POLICY_LOSS_FN", "PolicyLossFn"]
