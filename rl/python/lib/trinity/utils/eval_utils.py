"""The old place of trinity.common.rewards.eval_utils."""

from trinity import _missing
from trinity.common.rewards.eval_utils import *  # noqa: F401,F403

__getattr__ = _missing.attribute(__name__)
