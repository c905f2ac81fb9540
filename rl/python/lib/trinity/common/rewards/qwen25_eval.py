"""Grading as Qwen2.5-Math does it."""

import math
import re

from trinity import _missing
from trinity.common.rewards.reward_fn import builtin, step

__getattr__ = _missing.attribute(__name__)
__all__ = ["verify_math_answer", "math_equal", "extract_answer", "strip_string", "fix_fracs", "fix_sqrt", "fix_a_slash_b",
           "convert_word_number", "numeric_equal", "symbolic_equal"]


def verify_math_answer(response_text, ground_truth):
    """1.0 or 0.0, and what was compared."""
    accuracy = builtin("same_answer", response_text, ground_truth)["accuracy"]
    return accuracy, {"ground_truth": str(ground_truth), "is_correct": accuracy == 1.0}


def math_equal(prediction, reference):
    """Whether two answers are the same."""
    if prediction is None or reference is None:
        return False
    return builtin("same_answer", f"\\boxed{{{prediction}}}", f"\\boxed{{{reference}}}")["accuracy"] == 1.0


symbolic_equal = math_equal


def numeric_equal(prediction, reference):
    """Whether two numbers are the same within 0.0001 of the larger one."""
    return math.isclose(reference, prediction, rel_tol=1e-4)


def extract_answer(response_text):
    """The answer in a text: of the last box, after "the answer is", or the last number. None if there is none."""
    return step("extract_answer", response_text) if isinstance(response_text, str) else None


def strip_string(input_str):
    """An answer in a uniform spelling."""
    return None if input_str is None else step("strip_string", str(input_str))


def fix_fracs(string):
    r"""\frac12 as \frac{1}{2}."""
    return step("fix_fracs", string)


def fix_a_slash_b(string):
    r"""1/2 as \frac{1}{2}."""
    return step("fix_a_slash_b", string)


def fix_sqrt(string):
    r"""\sqrt2 as \sqrt{2}."""
    return re.sub(r"\\sqrt\s*(\w+)", r"\\sqrt{\1}", string)


def convert_word_number(text):
    """A number in words as digits; another text as it is."""
    found = step("convert_word_number", str(text))
    return text if found is None else found
