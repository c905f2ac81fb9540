"""What plug-ins import from here is the trinity binary's, but for the mask of a conversation."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
