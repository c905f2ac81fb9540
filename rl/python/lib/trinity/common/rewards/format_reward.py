"""Whether an answer has a form."""

import re

from trinity import _missing
from trinity.common.rewards.reward_fn import RewardFn

__getattr__ = _missing.attribute(__name__)


class FormatReward(RewardFn):
    """0.1 if the pattern matches from the beginning, else -0.1."""

    def __init__(self, pattern=None):
        self.pattern = pattern or r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$"

    def __call__(self, response, **_):
        found = re.match(self.pattern, response, re.DOTALL | re.MULTILINE)
        return {"format_score": 0.1 if found else -0.1}
