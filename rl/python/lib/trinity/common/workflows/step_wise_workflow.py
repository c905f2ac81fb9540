"""Workflows of steps, each of which gives experiences of its own: those that the model's history has after it."""

from functools import cached_property

from trinity import _missing
from trinity.common.workflows.workflow import Task, Workflow  # noqa: F401 for those who import

__getattr__ = _missing.attribute(__name__)


class _Steps(Workflow):
    """Runs step after step until one says that it was the last. self.client is an OpenAI client of the model, made when it
    is first used."""

    def __init__(self, *, task, model, auxiliary_models=None, use_openai_client=True):
        super().__init__(task=task, model=model, auxiliary_models=auxiliary_models)
        if not use_openai_client:
            self.client = None

    @cached_property
    def client(self):
        return self.model.get_openai_client()

    def step(self, step_num):
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    async def step_async(self, step_num):
        raise NotImplementedError(f"{type(self).__name__} has no step_async()")

    @property
    def max_step_num(self):
        raise NotImplementedError(f"{type(self).__name__} has no max_step_num")

    def _taken(self, step):
        taken = self.model.extract_experience_from_history()
        for exp in taken:
            exp.eid.step = step
        return taken


class StepWiseRewardWorkflow(_Steps):
    """Each step has a reward of its own."""

    def reward(self, exps, step_num):
        raise NotImplementedError(f"{type(self).__name__} has no reward()")

    def run(self):
        made = []
        for step in range(self.max_step_num):
            more = self.step(step_num=step)
            taken = self._taken(step)
            value = self.reward(taken, step_num=step)
            made += _graded(taken, value)
            if not more:
                break
        return made


class AsyncStepWiseRewardWorkflow(StepWiseRewardWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def reward_async(self, exps, step_num):
        raise NotImplementedError(f"{type(self).__name__} has no reward_async()")

    async def run_async(self):
        made = []
        for step in range(self.max_step_num):
            more = await self.step_async(step_num=step)
            taken = self._taken(step)
            value = await self.reward_async(taken, step_num=step)
            made += _graded(taken, value)
            if not more:
                break
        return made


class RewardPropagationWorkflow(_Steps):
    """All steps have the reward of the whole."""

    def reward(self, exps):
        raise NotImplementedError(f"{type(self).__name__} has no reward()")

    def run(self):
        made, steps = [], 0
        for step in range(self.max_step_num):
            more = self.step(step_num=step)
            made += self._taken(step)
            steps = step + 1
            if not more:
                break
        return _counted(_graded(made, self.reward(made)), steps)


class AsyncRewardPropagationWorkflow(RewardPropagationWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def reward_async(self, exps):
        raise NotImplementedError(f"{type(self).__name__} has no reward_async()")

    async def run_async(self):
        made, steps = [], 0
        for step in range(self.max_step_num):
            more = await self.step_async(step_num=step)
            made += self._taken(step)
            steps = step + 1
            if not more:
                break
        return _counted(_graded(made, await self.reward_async(made)), steps)


def _graded(exps, value):
    for exp in exps:
        exp.reward = value
    return exps


def _counted(exps, steps):
    for exp in exps:
        exp.metrics["actual_env_steps"] = steps
    return exps
