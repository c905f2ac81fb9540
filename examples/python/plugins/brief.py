"""A reward function and a workflow of our own, as files of Trinity-RFT write them."""

import re

from trinity.common.rewards import REWARD_FUNCTIONS, RewardFn
from trinity.common.workflows import WORKFLOWS, Workflow


@REWARD_FUNCTIONS.register_module("brief_reward")
class BriefReward(RewardFn):
    """1 for the right number, a little more for working it out, and a little less for every character."""

    def __init__(self, working: float = 0.2, cost: float = 0.002, **kwargs):
        self.working = working
        self.cost = cost

    def __call__(self, response, truth=None, **kwargs):
        said = re.findall(r"-?\d+", response.rpartition("<answer>")[2])
        want = re.findall(r"-?\d+", truth)[-1]
        return {
            "right": 1.0 if said and said[-1] == want else 0.0,
            "working": self.working if "=" in response else 0.0,
            "length": -self.cost * len(response),
        }


@WORKFLOWS.register_module("second_look")
class SecondLook(Workflow):
    """Asks, asks whether that is right, and rewards the second answer."""

    is_async = True

    async def run_async(self):
        grade = self.task.reward_fn(**self.task.reward_fn_args)
        messages = [{"role": "system", "content": self.task.format_args.system_prompt},
                    {"role": "user", "content": self.task.task_desc}]
        first = (await self.model.chat_async(messages, n=1))[0]
        messages += [{"role": "assistant", "content": first.response_text},
                     {"role": "user", "content": self.task.task_desc}]
        second = (await self.model.chat_async(messages, n=1))[0]
        for step, exp in enumerate([first, second]):
            parts = grade(response=exp.response_text, truth=self.task.truth)
            exp.reward = sum(parts.values())
            exp.metrics.update(parts)
            exp.eid.step = step
        second.metrics["changed"] = float(first.response_text != second.response_text)
        return [second]
