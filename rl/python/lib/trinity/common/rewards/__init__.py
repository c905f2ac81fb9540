"""Reward functions: the registry, the base class, and those that come with the trinity binary."""

from trinity import _missing
from trinity.common.rewards.reward_fn import REWARD_FUNCTIONS, RewardFn

__all__ = ["REWARD_FUNCTIONS", "RewardFn"]

_OLD = {"AccuracyReward": "accuracy_reward", "CountDownRewardFn": "countdown_reward", "FormatReward": "format_reward",
        "MathRewardFn": "math_reward", "MathBoxedRewardFn": "math_reward", "MathDAPORewardFn": "dapo_reward"}
_missing_here = _missing.attribute(__name__)


def __getattr__(name):  # the classes were importable from here in earlier versions
    if name in _OLD:
        import importlib

        return getattr(importlib.import_module(f"trinity.common.rewards.{_OLD[name]}"), name)
    return _missing_here(name)
