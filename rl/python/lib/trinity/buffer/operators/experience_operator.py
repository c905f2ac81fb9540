"""The base classes of operators."""

from abc import ABC, abstractmethod

from trinity import _missing
from trinity.utils.registry import Registry

__getattr__ = _missing.attribute(__name__)

EXPERIENCE_OPERATORS = Registry("experience_operators")


class ExperienceOperator(ABC):
    """Changes the experiences of an explore step, and says what it measured."""

    @abstractmethod
    def process(self, exps):
        """The experiences that stay, and metrics."""

    def close(self):
        """Lets go of what it holds."""


class ExperienceOperatorV1(ABC):
    """The same as coroutines, with auxiliary models."""

    def set_auxiliary_model(self, auxiliary_models=None):
        """auxiliary_models are lists of OpenAI clients by name and by number."""
        self.auxiliary_models = auxiliary_models or {}

    async def prepare(self):
        """Runs once before the first experiences."""

    @abstractmethod
    async def process(self, exps):
        """The experiences that stay, and metrics."""

    async def close(self):
        """Lets go of what it holds."""


class ExperienceOperatorV1Wrapper(ExperienceOperatorV1):
    """An ExperienceOperator as an ExperienceOperatorV1."""

    def __init__(self, operator):
        self.operator = operator

    async def process(self, exps):
        return self.operator.process(exps)

    async def close(self):
        return self.operator.close()


def ensure_v1_operator(operator):
    """The operator as an ExperienceOperatorV1."""
    if isinstance(operator, ExperienceOperatorV1):
        return operator
    if callable(getattr(operator, "process", None)):
        return ExperienceOperatorV1Wrapper(operator)
    raise TypeError(f"Unsupported operator instance type: {type(operator)}; it must have process(exps)")


def create_operators(operator_configs, auxiliary_models=None):
    """The operators of a list of configurations."""
    made = [ensure_v1_operator(EXPERIENCE_OPERATORS.get(c.name)(**c.args)) for c in operator_configs]
    for operator in made:
        operator.set_auxiliary_model(auxiliary_models)
    return made
