"""Makes accuracy_reward.jsonl with the real math_verify, as math_reward.py does, for accuracy_reward
without a parser: LaTeX only, the truth by its first match, the response by boxes before anything else."""

import json
import logging

from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify

logging.disable(logging.CRITICAL)
RESPONSE = LatexExtractionConfig(
    normalization_config=NormalizationConfig(nits=False, malformed_operators=False, basic_latex=True, equations=True, boxed="all", units=True),
    boxed_match_priority=0,
    try_extract_without_anchor=False,
)


def score(truth, response):
    want = parse(truth, extraction_mode="first_match", extraction_config=[LatexExtractionConfig()])
    got = parse(response, extraction_mode="first_match", extraction_config=[RESPONSE])
    try:
        return float(verify(got, want if want else truth))
    except Exception:
        return 0.0


TRUTHS = ["$5$", "\\boxed{5}", "5", "$\\frac{1}{2}$", "$x=5$", "we get $3$ and then $5$", "$1,2$", "\\foo"]
RESPONSES = [
    "\\boxed{5}", "$5$", "5", "The answer is $5$", "the final answer is $5$ and \\boxed{4}", "\\boxed{4} so \\boxed{5}", "$\\boxed{5}$", "answer: $2+3=5$", "\\boxed{x=2+3=5}",
    "\\boxed{\\frac{1}{2}}", "\\boxed{\\frac12}", "\\boxed{0.5}", "\\boxed{.5}", "\\boxed{1/2}", "answer $1$, $2$", "\\boxed{1,2}", "\\boxed{2}, \\boxed{1}", "\\boxed{5 cm}", "", "\\foo", "\\boxed{\\foo}",
    "\\boxed{5", "Answer: \\[5\\]", "$4$ is the answer $5$", "answer 5", "\\boxed{x=5}",
]
for t in TRUTHS:
    for r in RESPONSES:
        print(json.dumps({"truth": t, "response": r, "accuracy": score(t, r)}, ensure_ascii=False))
