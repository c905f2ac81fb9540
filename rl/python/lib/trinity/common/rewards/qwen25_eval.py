"""Grading as Qwen2.5-Math does it."""

from trinity import _missing
from trinity.common.rewards.reward_fn import builtin

__getattr__ = _missing.attribute(__name__)
__all__ = ["verify_math_answer", "math_equal"]


def verify_math_answer(response_text, ground_truth):
    """1.0 or 0.0, and what was compared."""
    accuracy = builtin("same_answer", response_text, ground_truth)["accuracy"]
    return accuracy, {"ground_truth": str(ground_truth), "is_correct": accuracy == 1.0}


def math_equal(prediction, reference):
    """Whether two answers are the same."""
    if prediction is None or reference is None:
        return False
    return builtin("same_answer", f"\\boxed{{{prediction}}}", f"\\boxed{{{reference}}}")["accuracy"] == 1.0
