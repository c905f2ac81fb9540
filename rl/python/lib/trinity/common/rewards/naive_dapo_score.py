"""The grader of DAPO, and the steps that files import. Comparisons are the trinity binary's."""

import re

from trinity import _missing
from trinity.common.rewards.qwen25_eval import math_equal
from trinity.common.rewards.reward_fn import builtin

__getattr__ = _missing.attribute(__name__)

# The words of the normalisation in Minerva's appendix (arXiv 2206.14858, listing D.1).
SUBSTITUTIONS = [("an ", ""), ("a ", ""), (".$", "$"), ("\\$", ""), (r"\ ", ""), (" ", ""), ("mbox", "text"),
                 (",\\text{and}", ","), ("\\text{and}", ","), ("\\text{m}", "\\text{}")]
REMOVED_EXPRESSIONS = [
    *("square ways integers dollars mph inches hours km units \\ldots sue points feet minutes digits cents degrees cm gm pounds "
      "meters meals edges students childrentickets multiples \\text{s} \\text{.}").split(), "\\text{\ns}", "\\text{}^2",
    "\\text{}^3", "\\text{\n}", "\\text{}", r"\mathrm{th}", r"^\circ", r"^{\circ}", r"\;", r",\!", "{,}", '"', "\\dots"]
TUPLE_CHARS = "()[]"


class Score(float):
    """1.0 or 0.0. Unpacked, as later versions have it, it is also the answer that was graded."""

    def __new__(cls, value, graded):
        self = super().__new__(cls, value)
        self.graded = graded
        return self

    def __iter__(self):
        return iter((float(self), self.graded))


def match_answer(response):
    """Whether the last part of a text, after its thoughts, has a box; and the contents of the last one, else that part."""
    text = str(response).rpartition("</think>")[2]
    at = max(text.rfind("\\boxed"), text.rfind("\\fbox") if "\\boxed" not in text else -1)
    depth, start = 0, None
    for i in range(at, len(text)) if at >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if text[i] == "{" and start is None:
            start = i + 1
        if text[i] == "}" and depth == 0:
            inner = text[start:i].strip() if start is not None else ""
            return (True, inner) if inner else (False, text)
    return False, text


def compute_score(solution_str, ground_truth, extra_info=None):
    """The Score of a solution."""
    right = builtin("math_dapo_reward", str(solution_str), ground_truth)["accuracy"] > 0
    boxed, answer = match_answer(solution_str)
    if not boxed and len(answer) > 20:
        answer = answer[:20] + "(... output is truncated.)"
    return Score(1.0 if right else 0.0, answer)


def grade_answer(given_answer, ground_truth):
    """Whether an answer is right, and the answer."""
    if given_answer is None:
        return False, None
    return builtin("math_dapo_reward", f"\\boxed{{{given_answer}}}", ground_truth)["accuracy"] > 0, given_answer


def are_equal_under_sympy(ground_truth_normalized, given_normalized):
    """Whether two expressions are equal, by the trinity binary's mathematics."""
    return math_equal(given_normalized, ground_truth_normalized)


def split_tuple(expr):
    """The elements of a tuple or an interval; commas between the thousands of a number do not separate."""
    while (joined := re.sub(r"(\d),(\d\d\d)($|\D)", r"\1\2\3", expr)) != expr:
        expr = joined
    inner = expr[1:-1]
    if len(expr) > 2 and expr[0] in TUPLE_CHARS and expr[-1] in TUPLE_CHARS and not any(c in inner for c in TUPLE_CHARS):
        return [e.strip() for e in inner.split(",")]
    return [expr] if expr else []


def count_unknown_letters_in_expr(expr):
    """How many letters an expression has besides sqrt and frac."""
    return len({c for c in expr.replace("sqrt", "").replace("frac", "") if c.isalpha()})


def should_allow_eval(expr):
    """Whether an expression is simple enough to be evaluated."""
    return (count_unknown_letters_in_expr(expr) <= 2 and "^{" not in expr and "^(" not in expr
            and not re.search(r"\^[0-9]+\^|\^[0-9][0-9]+", expr))


def normalize_final_answer(final_answer):
    """A final answer without words, units and LaTeX that do not matter."""
    text = final_answer.rpartition("=")[2]
    for old, new in [*SUBSTITUTIONS, *((word, "") for word in REMOVED_EXPRESSIONS)]:
        text = text.replace(old, new)
    text = re.sub(r"(.*?)\$(.*?)\$(.*)", r"$\2$", text)
    for command in ("text", "textbf", "overline"):
        text = re.sub(r"\\%s\{(.*?)\}" % command, r"\1", text)
    text = re.sub(r"\\boxed\{(.*)\}", r"\1", text)
    text = re.sub(r"frac([^{])(.)", r"frac{\1}{\2}", text)
    text = re.sub(r"sqrt([^{])", r"sqrt{\1}", text).replace("$", "")
    return (text.replace(",", "") if text.replace(",", "").isdigit() else text).strip()
