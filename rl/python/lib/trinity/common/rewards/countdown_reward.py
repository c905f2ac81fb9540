"""The reward of countdown."""

from trinity import _missing
from trinity.common.rewards.reward_fn import RewardFn, builtin

__getattr__ = _missing.attribute(__name__)


class CountDownRewardFn(RewardFn):
    """1 for an equation that uses the numbers and gives the target, 0.1 for another one, 0 for none."""

    def __init__(self):
        pass

    def __call__(self, response, prompt=None, truth=None):
        return builtin("countdown_reward", response, truth, prompt)
