"""The grader of DAPO."""

from trinity import _missing
from trinity.common.rewards.reward_fn import builtin

__getattr__ = _missing.attribute(__name__)


def compute_score(solution_str, ground_truth):
    """1.0 or 0.0, and the end of the text that was graded."""
    right = builtin("math_dapo_reward", str(solution_str), ground_truth)["accuracy"] > 0
    return (1.0 if right else 0.0), str(solution_str).rpartition("</think>")[2]
