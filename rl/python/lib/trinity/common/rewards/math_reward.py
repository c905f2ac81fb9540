"""Rewards of mathematics."""

from trinity import _missing
from trinity.common.rewards.accuracy_reward import AccuracyReward
from trinity.common.rewards.eval_utils import simple_answer_parser
from trinity.common.rewards.format_reward import FormatReward
from trinity.common.rewards.reward_fn import RewardFn, builtin

__getattr__ = _missing.attribute(__name__)


class MathRewardFn(RewardFn):
    """Accuracy of the answer, and whether it has the form <think>…</think><answer>…</answer>."""

    DEFAULT_FORMAT_PATTERN = r".*?<think>.*?</think>\s*<answer>.*?</answer>\s*$"
    DEFAULT_ANSWER_PARSER = simple_answer_parser

    def __init__(self, answer_parser=None, pattern=None):
        self.accuracy_reward = AccuracyReward(answer_parser) if answer_parser else None
        self.format_reward = FormatReward(pattern) if pattern else None

    def __call__(self, response, prompt=None, truth=None):
        parts = builtin("math_reward", response, truth, prompt)
        if self.accuracy_reward:
            parts.update(self.accuracy_reward(response, prompt, truth))
        if self.format_reward:
            parts.update(self.format_reward(response))
        return parts


class MathBoxedRewardFn(RewardFn):
    """Accuracy of the answer in the last LaTeX box."""

    def __init__(self, **kwargs):
        pass

    def __call__(self, response, truth=None, with_think=False, format_score_coef=0.1, **kwargs):
        return builtin("math_boxed_reward", response, truth, with_think=bool(with_think),
                       format_score_coef=format_score_coef)
