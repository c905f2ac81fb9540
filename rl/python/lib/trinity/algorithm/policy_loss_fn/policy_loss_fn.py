"""Policy losses in torch: registered, so that plug-in files load, and refused by name when a configuration asks for one."""

from trinity import _missing
from trinity.algorithm._refused import INSTEAD, Base
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)

POLICY_LOSS_FN = Refusing("policy_loss_fn", "the policy loss", INSTEAD)


class PolicyLossFn(Base):
    """The base class."""
