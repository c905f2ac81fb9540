"""Tools that plug-ins import."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
