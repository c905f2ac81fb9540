"""The names of Trinity-RFT that plug-in files import, carried in the trinity binary: pure Python, standard library only.

What is not here raises an ImportError that names it and says what to do (see trinity._missing).
"""

from trinity import _missing

__version__ = "0.6.0"
"""The version of Trinity-RFT whose names and behaviour these are."""

_missing.install()
__getattr__ = _missing.attribute(__name__)
