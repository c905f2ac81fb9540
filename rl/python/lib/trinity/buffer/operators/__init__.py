"""Operators of the experience pipeline."""

from trinity import _missing
from trinity.buffer.operators.experience_operator import (
    EXPERIENCE_OPERATORS,
    ExperienceOperator,
    ExperienceOperatorV1,
    create_operators,
)

__getattr__ = _missing.attribute(__name__)
__all__ = ["EXPERIENCE_OPERATORS", "ExperienceOperator", "ExperienceOperatorV1", "create_operators"]
