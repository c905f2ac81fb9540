"""The base class of reward functions."""

from abc import ABC, abstractmethod

from trinity import _missing, _seam
from trinity.utils.registry import Registry

__getattr__ = _missing.attribute(__name__)

_HERE = "trinity.common.rewards."
REWARD_FUNCTIONS = Registry("reward_functions", {
    "math_reward": _HERE + "math_reward.MathRewardFn",
    "math_boxed_reward": _HERE + "math_reward.MathBoxedRewardFn",
    "format_reward": _HERE + "format_reward.FormatReward",
    "countdown_reward": _HERE + "countdown_reward.CountDownRewardFn",
    "accuracy_reward": _HERE + "accuracy_reward.AccuracyReward",
    "math_dapo_reward": _HERE + "dapo_reward.MathDAPORewardFn",
})


class RewardFn(ABC):
    """Grades answers: made once with reward_fn_args, called with response and truth. The parts it returns are metrics, and
    their sum is the reward."""

    @abstractmethod
    def __init__(self, **kwargs):
        pass

    @abstractmethod
    def __call__(self, **kwargs):
        pass


def builtin(name, response, truth=None, prompt=None, response_token=None, **args):
    """The parts that a reward function of the trinity binary gives."""
    if response_token is not None:
        response_token = [int(t) for t in getattr(response_token, "tolist", lambda: list(response_token))()]
    return _seam.call().up("reward.builtin", {
        "name": name, "response": response, "truth": "" if truth is None else str(truth), "prompt": prompt or "",
        "response_tokens": response_token or [], "args": {k: v for k, v in args.items() if v is not None}})


def step(name, text):
    """What a step of the trinity binary's graders makes of a text, None if it finds nothing."""
    return _seam.call().up("reward.step", {"name": name, "text": text})
