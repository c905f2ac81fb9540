"""Writers of a plug-in's own files. What is trained is written by the trinity binary."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
