"""Parts that reward functions are made of."""

import re

from trinity import _missing
from trinity.common.rewards.reward_fn import builtin

__getattr__ = _missing.attribute(__name__)
__all__ = ["ANS_RE", "INVALID_ANS", "compute_score", "compute_score_v0", "evaluate_equation", "extract_solution", "find_boxed_answer", "is_equiv",
           "last_boxed_only_string", "parse_with_timeout", "remove_boxed", "remove_right_units", "simple_answer_parser",
           "validate_equation", "validate_think_pattern", "verify_with_timeout"]

ANS_RE = re.compile(r"#### (\-?[0-9\.\,]+)")  # the answer of GSM8K
INVALID_ANS = "[invalid]"

_NUMBER = re.compile(r"\d+")
_ARITHMETIC = re.compile(r"[\d+\-*/().\s]+")


def simple_answer_parser(response):
    """The contents of the first answer tag of a line, else the text."""
    found = re.search(r"<answer>(.*?)</answer>", response)
    return found.group(1) if found else response


def parse_with_timeout(pred, parsing_timeout=5, **_):
    """What verify_with_timeout compares: the text, since the trinity binary parses and compares at once."""
    return [pred]


def verify_with_timeout(gold, target, timeout_seconds=5, **_):
    """Whether two answers are the same."""
    gold, target = (v[0] if isinstance(v, (list, tuple)) and v else v for v in (gold, target))
    if gold is None or target is None:
        return False
    return builtin("math_reward", f"<answer>{target}</answer>", f"<answer>{gold}</answer>")["accuracy"] == 1.0


def extract_solution(solution_str):
    """The contents of the last answer tag of the last line, or None."""
    found = re.findall(r"<answer>(.*?)</answer>", solution_str.rpartition("\n")[2])
    return found[-1].strip() if found else None


def validate_equation(equation_str, available_numbers):
    """Whether an equation uses each of the numbers once."""
    try:
        return sorted(map(int, _NUMBER.findall(equation_str))) == sorted(available_numbers)
    except (TypeError, ValueError):
        return False


def evaluate_equation(equation_str):
    """The value of an expression of numbers, + - * / and parentheses; None if it is none."""
    if not _ARITHMETIC.fullmatch(equation_str) or "**" in equation_str:
        return None
    try:
        return eval(equation_str, {"__builtins__": None}, {})  # nothing but arithmetic passed the pattern
    except Exception:
        return None


def validate_think_pattern(text):
    """Whether there is exactly one pair of think tags, in order."""
    return (text.count("<think>"), text.count("</think>")) == (1, 1) and text.find("<think>") < text.find("</think>")


def compute_score_v0(solution_str, ground_truth):
    """1.0 if the last box has the truth, else 0.0."""
    return builtin("math_boxed_reward", solution_str, ground_truth)["accuracy"]


compute_score = compute_score_v0


def is_equiv(str1, str2, verbose=False):
    """Whether two answers are the same after their LaTeX is made uniform."""
    if str1 is None or str2 is None:
        return str1 is str2
    return str1 == str2 or compute_score_v0(f"\\boxed{{{str1}}}", str2) == 1.0


def last_boxed_only_string(string):
    """The last \\boxed{…} or \\fbox{…} of a text, or None."""
    at = max(string.rfind("\\boxed{"), -1)
    if at < 0:
        at = string.rfind("\\fbox{")
    depth = 0
    for i in range(max(at, 0), len(string) if at >= 0 else 0):
        depth += {"{": 1, "}": -1}.get(string[i], 0)
        if depth == 0 and string[i] == "}":
            return string[at : i + 1]
    return None


def remove_boxed(s):
    """What is in a box."""
    return s[s.index("{") + 1 : -1]


def remove_right_units(string):
    r"""A text without the unit in \text{ … } at its end."""
    left, *units = string.split("\\text{ ")
    assert len(units) < 2, f"there are {len(units)} units in {string!r}"
    return left


def find_boxed_answer(raw_answer, timeout=10):
    """What is in the last box of a text, or None."""
    box = last_boxed_only_string(raw_answer)
    return remove_boxed(box) if box else None
