"""The reward of DAPO."""

from trinity import _missing
from trinity.common.rewards.naive_dapo_score import match_answer
from trinity.common.rewards.reward_fn import RewardFn, builtin

__getattr__ = _missing.attribute(__name__)


class MathDAPORewardFn(RewardFn):
    """Accuracy, and a penalty for long answers."""

    def __init__(self, enable_overlong_penalty=None, penalty_factor=None, max_response_length=None, cache_length=None):
        self.enable_overlong_penalty = enable_overlong_penalty
        self.penalty_factor = penalty_factor
        self.max_response_length = max_response_length
        self.cache_length = cache_length

    def __call__(self, response, response_token=None, truth=None, **kwargs):
        info = kwargs.get("info")
        if info is not None:
            info.update(ground_truth=truth, extracted_answer=match_answer(response)[1])
        return builtin("math_dapo_reward", response, truth, response_token=response_token, **vars(self))

    def compute_overlong_penalty(self, response_token):
        """The penalty for a long answer: 0 up to max_response_length - cache_length tokens, then falling to
        -penalty_factor at max_response_length (DAPO, arXiv 2503.14476, section 3.4)."""
        most, cache, factor = self.max_response_length, self.cache_length, self.penalty_factor
        if None in (most, cache, factor) or most <= cache:
            raise ValueError(f"max_response_length is {most}, cache_length {cache} and penalty_factor {factor}; set all, and "
                             "max_response_length above cache_length")
        n, free = len(response_token), most - cache
        return 0.0 if n < free else -factor if n > most else (free - n) / cache * factor
