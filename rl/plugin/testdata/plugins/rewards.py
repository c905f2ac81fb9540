"""Reward functions in the forms that plug-in files have."""

import os
from typing import Optional

from trinity.common.rewards import REWARD_FUNCTIONS, RewardFn
from trinity.common.rewards.math_reward import MathBoxedRewardFn, MathRewardFn
from trinity.common.rewards.reward_fn import REWARD_FUNCTIONS as OLD_PLACE
from trinity.utils.log import get_logger

from .words import digits

logger = get_logger(__name__)


@REWARD_FUNCTIONS.register_module("digit_reward")
class DigitReward(RewardFn):
    """A part that is usual, and one that reward_fn_args weigh."""

    def __init__(self, weight: float = 0.1, **kwargs) -> None:
        self.weight = weight

    def __call__(self, response: str, truth: Optional[str] = None, **kwargs) -> dict:
        return {"digits": self.weight * digits(response), "brevity": -0.001 * len(response)}


@OLD_PLACE.register_module("math_and_length")
class MathAndLength(MathRewardFn):
    """A shipped reward function, and more."""

    def __call__(self, response, prompt=None, truth=None):
        parts = super().__call__(response, prompt, truth)
        return {**parts, "length": -0.001 * len(response)}


@REWARD_FUNCTIONS.register_module("boxed_tokens")
class BoxedTokens(MathBoxedRewardFn):
    """What math_boxed_workflow hands over."""

    def __call__(self, response, truth=None, with_think=False, format_score_coef=0.1, **kwargs):
        parts = super().__call__(response, truth, with_think, format_score_coef)
        return {**parts, "tokens": 0.01 * len(kwargs["response_token"])}


@REWARD_FUNCTIONS.register_module("plain_function")
def plain_function(response, truth):
    return 0.25 * digits(response)


@REWARD_FUNCTIONS.register_module("async_reward")
class AsyncReward(RewardFn):
    def __init__(self, **kwargs):
        pass

    async def __call__(self, response, truth=None, **kwargs):
        import asyncio

        await asyncio.sleep(0.001)
        return {"score": 0.5 * digits(response)}


@REWARD_FUNCTIONS.register_module("from_environment")
def from_environment(response: str, **kwargs) -> dict:
    """What explorer.env_vars says."""
    return {"given": float(os.environ["OWN_REWARD"])}
