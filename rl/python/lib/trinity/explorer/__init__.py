"""Nothing: the explorer is the trinity binary's."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
