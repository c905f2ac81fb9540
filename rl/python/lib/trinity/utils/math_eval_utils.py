"""The old place of trinity.common.rewards.qwen25_eval."""

from trinity import _missing
from trinity.common.rewards.qwen25_eval import *  # noqa: F401,F403

__getattr__ = _missing.attribute(__name__)
