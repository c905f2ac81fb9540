"""KL penalties in torch: registered, so that plug-in files load, and refused by name when a configuration asks for one."""

from trinity import _missing
from trinity.algorithm._refused import INSTEAD, Base
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)

KL_FN = Refusing("kl_fn", "the KL function", INSTEAD)


class KLFn(Base):
    """The base class."""
