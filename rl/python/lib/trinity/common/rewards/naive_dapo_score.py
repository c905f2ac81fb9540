"""The grader of DAPO."""

from trinity import _missing
from trinity.common.rewards.reward_fn import builtin

__getattr__ = _missing.attribute(__name__)


class Score(float):
    """1.0 or 0.0. Unpacked, as later versions have it, it is also the end of the text that was graded."""

    def __new__(cls, value, graded):
        self = super().__new__(cls, value)
        self.graded = graded
        return self

    def __iter__(self):
        return iter((float(self), self.graded))


def compute_score(solution_str, ground_truth, extra_info=None):
    """The Score of a solution."""
    right = builtin("math_dapo_reward", str(solution_str), ground_truth)["accuracy"] > 0
    return Score(1.0 if right else 0.0, str(solution_str).rpartition("</think>")[2])
