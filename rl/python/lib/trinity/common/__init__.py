"""The types of tasks, models and experiences."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
