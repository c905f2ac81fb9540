"""What is done with recorded calls. They are recorded by the trinity binary."""

from trinity import _missing

__getattr__ = _missing.attribute(__name__)
