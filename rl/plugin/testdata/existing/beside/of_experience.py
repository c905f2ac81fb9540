"""A reward function as math_rm_workflow calls it: with the whole experience and ground_truth."""

from trinity.common.rewards import REWARD_FUNCTIONS, MathRewardFn, RewardFn


@REWARD_FUNCTIONS.register_module("of_experience")
class OfExperience(RewardFn):
    def __init__(self, **kwargs):
        self.grade = MathRewardFn()

    def __call__(self, response, messages=None, ground_truth=None, **kwargs):
        return self.grade(response.response_text, truth=ground_truth)
