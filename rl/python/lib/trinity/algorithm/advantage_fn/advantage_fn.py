"""Advantages in torch: registered, so that plug-in files load, and refused by name when a configuration asks for one."""

from trinity import _missing
from trinity.algorithm._refused import INSTEAD, Base
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)

ADVANTAGE_FN = Refusing("advantage_fn", "the advantage function", INSTEAD)


class AdvantageFn(Base):
    """The base class."""


class GroupAdvantage(AdvantageFn):
    """The base class of those that compare the answers of a group."""
