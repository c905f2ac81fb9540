"""Whether an answer is right."""

from trinity import _missing
from trinity.common.rewards.eval_utils import verify_with_timeout
from trinity.common.rewards.reward_fn import RewardFn, builtin

__getattr__ = _missing.attribute(__name__)


class AccuracyReward(RewardFn):
    """1 for a right answer, else 0. answer_parser reads the answer out of a text."""

    def __init__(self, answer_parser=None):
        self.answer_parser = answer_parser

    def __call__(self, response, prompt=None, truth=None):
        if self.answer_parser is None:
            return builtin("accuracy_reward", response, truth, prompt)
        got, want = self.answer_parser(response), self.answer_parser(truth)
        return {"accuracy": 1.0 if got == want or verify_with_timeout(want, got) else 0.0}
