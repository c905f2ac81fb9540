"""The model that a workflow asks."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
