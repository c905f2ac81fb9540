"""The reward of DAPO."""

from trinity import _missing
from trinity.common.rewards.reward_fn import RewardFn, builtin

__getattr__ = _missing.attribute(__name__)


class MathDAPORewardFn(RewardFn):
    """Accuracy, and a penalty for long answers."""

    def __init__(self, enable_overlong_penalty=None, penalty_factor=None, max_response_length=None, cache_length=None):
        self.args = {"enable_overlong_penalty": enable_overlong_penalty, "penalty_factor": penalty_factor,
                     "max_response_length": max_response_length, "cache_length": cache_length}

    def __call__(self, response, response_token=None, truth=None, **kwargs):
        return builtin("math_dapo_reward", response, truth, response_token=response_token, **self.args)
