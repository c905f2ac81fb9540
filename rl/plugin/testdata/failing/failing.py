"""Workflows and rewards that go wrong."""

import os

from trinity.common.rewards import REWARD_FUNCTIONS, RewardFn
from trinity.common.workflows import WORKFLOWS, Workflow, WorkflowWithRecording


class Asks(Workflow):
    def asked(self):
        return self.model.chat([{"role": "user", "content": self.task.task_desc}], n=1)


@WORKFLOWS.register_module("returns_nothing")
class ReturnsNothing(Asks):
    def run(self):
        self.asked()


@WORKFLOWS.register_module("returns_empty")
class ReturnsEmpty(Asks):
    def run(self):
        return []


@WORKFLOWS.register_module("returns_text")
class ReturnsText(Asks):
    def run(self):
        return ["text"]


@WORKFLOWS.register_module("no_reward")
class NoReward(Asks):
    def run(self):
        return self.asked()


@WORKFLOWS.register_module("nan_reward")
class NaNReward(Asks):
    def run(self):
        made = self.asked()
        made[0].reward = float("nan")
        return made


@WORKFLOWS.register_module("other_tokens")
class OtherTokens(Asks):
    def run(self):
        made = self.asked()
        made[0].tokens[-1] = 7 if made[0].tokens[-1] != 7 else 8
        made[0].reward = 1.0
        return made


@WORKFLOWS.register_module("other_logprobs")
class OtherLogprobs(Asks):
    def run(self):
        made = self.asked()
        made[0].logprobs = made[0].logprobs * 0.5
        made[0].reward = 1.0
        return made


@WORKFLOWS.register_module("raises")
class Raises(Asks):
    def run(self):
        self.asked()
        return self.helper({})

    def helper(self, table):
        return table["no such key"]


@WORKFLOWS.register_module("dies")
class Dies(Asks):
    def run(self):
        os._exit(3)


@WORKFLOWS.register_module("no_class")
def no_class(task):
    return []


@REWARD_FUNCTIONS.register_module("nan_part")
class NaNPart(RewardFn):
    def __init__(self, **kwargs):
        pass

    def __call__(self, response, truth=None, **kwargs):
        return {"accuracy": float("nan")}


@REWARD_FUNCTIONS.register_module("raising_reward")
class RaisingReward(RewardFn):
    def __init__(self, **kwargs):
        pass

    def __call__(self, response, truth=None, **kwargs):
        raise RuntimeError("the grader is out")


@REWARD_FUNCTIONS.register_module("slow_reward")
class SlowReward(RewardFn):
    def __init__(self, **kwargs):
        pass

    def __call__(self, response, truth=None, **kwargs):
        import time

        time.sleep(30)
        return {"score": 1.0}


@WORKFLOWS.register_module("unrewarded")
class Unrewarded(WorkflowWithRecording):
    async def run_async(self):
        for text in "ab":
            await self.model.chat_async([{"role": "user", "content": text}], n=1, enable_recording=True)


@WORKFLOWS.register_module("silent")
class Silent(WorkflowWithRecording):
    async def run_async(self):
        await self.update_reward(1.0)
