"""The base classes of workflows."""

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Type, Union

from trinity import _missing
from trinity.common.config import FormatConfig, GenerationConfig
from trinity.common.experience import Experience
from trinity.common.rewards.reward_fn import RewardFn
from trinity.utils.log import get_logger
from trinity.utils.registry import Registry

__getattr__ = _missing.attribute(__name__)

_HERE = "trinity.common.workflows."
WORKFLOWS = Registry("workflows", {
    "simple_workflow": _HERE + "workflow.SimpleWorkflow",
    "async_simple_workflow": _HERE + "workflow.AsyncSimpleWorkflow",
    "math_workflow": _HERE + "workflow.MathWorkflow",
    "async_math_workflow": _HERE + "workflow.AsyncMathWorkflow",
    "math_boxed_workflow": _HERE + "customized_math_workflows.MathBoxedWorkflow",
    "async_math_boxed_workflow": _HERE + "customized_math_workflows.AsyncMathBoxedWorkflow",
    "math_eval_workflow": _HERE + "eval_workflow.MathEvalWorkflow",
    "async_math_eval_workflow": _HERE + "eval_workflow.AsyncMathEvalWorkflow",
    "math_rm_workflow": _HERE + "math_rm_workflow.MathRMWorkflow",
    "async_math_rm_workflow": _HERE + "math_rm_workflow.AsyncMathRMWorkflow",
    "harbor_workflow": _HERE + "harbor_workflow.HarborWorkflow",
})


Metrics = Dict[str, float]


@dataclass(frozen=True)
class Status:
    """How the runs of a workflow ended."""

    completed_runs: int
    total_runs: int
    metrics: List[Metrics]
    successful_ids: List[str] = field(default_factory=list)
    message: Optional[str] = None

    @property
    def ok(self):
        return self.completed_runs == self.total_runs


@dataclass
class Task(dict):
    """One row to work on, with how it is run and graded."""

    workflow: Optional[Type["WorkflowBase"]] = None
    repeat_times: Optional[int] = None
    format_args: FormatConfig = field(default_factory=FormatConfig)
    rollout_args: GenerationConfig = field(default_factory=GenerationConfig)
    workflow_args: Dict[str, Any] = field(default_factory=dict)
    reward_fn_args: Dict[str, Any] = field(default_factory=dict)
    is_eval: bool = False
    reward_fn: Optional[Type[RewardFn]] = None
    raw_task: Optional[dict] = None
    batch_id: Union[int, str] = ""
    task_id: Union[int, str] = ""
    run_id: int = 0
    index: Dict[str, Any] = field(default_factory=dict)

    def to_workflow(self, model, auxiliary_models=None):
        return self.workflow(model=model, task=self, auxiliary_models=auxiliary_models)

    @property
    def task_desc(self):
        return (self.raw_task or {}).get(self.format_args.prompt_key)

    @property
    def truth(self):
        return (self.raw_task or {}).get(self.format_args.response_key)

    @property
    def api_key(self):
        """The key of the run, under which its calls are recorded."""
        if None in (self.batch_id, self.task_id, self.run_id):
            raise ValueError(f"batch_id, task_id and run_id are {self.batch_id}, {self.task_id} and {self.run_id}; an API key "
                             "needs all of them")
        return f"{self.batch_id}/{self.task_id}/{self.run_id}"

    def to_dict(self):
        return self.raw_task


class WorkflowBase:
    """Carries a task out: subclasses have execute, and self.model records the experiences."""

    def __init__(self, task, model, **kwargs):
        self.logger = get_logger(type(self).__module__)
        self.model = model
        WorkflowBase.reset(self, task)

    async def execute(self):
        """The Status of the runs."""
        raise NotImplementedError(f"{type(self).__name__} has no execute()")

    def reset(self, task):
        """Begins another task."""
        self.task = task
        if hasattr(self.model, "set_api_key"):
            self.model.set_api_key(task.api_key)


class Workflow(WorkflowBase):
    """Makes experiences of a task: subclasses have run, or run_async and is_async = True."""

    can_reset: bool = False
    can_repeat: bool = False
    is_async: bool = False

    def __init__(self, *, task, model, auxiliary_models=None):
        super().__init__(task, model)
        self.auxiliary_model_wrappers = auxiliary_models
        self.auxiliary_models = None
        if auxiliary_models:
            ask = "get_openai_async_client" if self.__class__.is_async else "get_openai_client"
            self.auxiliary_models = [getattr(m, ask)() for m in auxiliary_models]
        self.set_single_run_context(0)

    @property
    def resettable(self):
        return self.__class__.can_reset

    @property
    def repeatable(self):
        return self.__class__.can_repeat

    @property
    def asynchronous(self):
        return self.__class__.is_async

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times
        self.run_id_base = run_id_base

    def set_single_run_context(self, run_id_base):
        Workflow.set_repeat_times(self, 1, run_id_base)

    def run(self):
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    async def run_async(self):
        raise NotImplementedError(f"{type(self).__name__} says is_async and has no run_async()")

    async def execute(self):
        """Runs, and puts the experiences in the place of what was recorded."""
        made = await self.run_async() if self.is_async else self.run()
        await self.model.overwrite_history_experiences_async(experiences=made, key=self.task.api_key)
        runs = self.repeat_times if self.can_repeat else 1
        return Status(runs, runs, [e.metrics for e in made], [self.task.api_key])


class WorkflowWithRecording(WorkflowBase):
    """Starts an agent that asks the model at base_url, where its calls are recorded: subclasses have run_async, which calls
    update_reward and returns metrics. The calls of one conversation are one experience."""

    can_reset: bool = False
    is_async: bool = True

    def __init__(self, *, task, model, auxiliary_models=None):
        super().__init__(task, model)
        self.auxiliary_models = auxiliary_models

    @property
    def base_url(self):
        return self.model.base_url

    @property
    def api_key(self):
        return self.task.api_key

    @property
    def model_name(self):
        return self.model.model_name

    async def run_async(self):
        raise NotImplementedError(f"{type(self).__name__} has no run_async()")

    async def execute(self):
        return Status(1, 1, [await self.run_async() or {}], [self.task.api_key])

    async def update_reward(self, reward, info=None, sample_ids=None):
        """Rewards what was recorded so far, or the experiences with the sample ids, and adds to their info."""
        await self.model.update_experience_reward_async(key=self.api_key, reward=reward, info=info, sample_ids=sample_ids)

    def set_single_run_context(self, run_id_base):
        """Nothing: each run has an object of its own."""


class RepeatableWorkflow(Workflow):
    """A workflow that runs its task several times within one run."""

    can_repeat: bool = True


class MultiTurnWorkflow(Workflow):
    """A workflow whose conversation is one experience."""

    def _build_experience_from_converted(self, converted_experience, reward, info=None, truncate_status=None):
        made, info = converted_experience, dict(info or {})
        status = made.truncate_status or truncate_status
        if made.truncate_status == "response_truncated":
            reward = 0.0
        numbers = {k: float(v) for k, v in info.items() if isinstance(v, (int, float))}
        return Experience(tokens=made.tokens, prompt_length=made.prompt_length, action_mask=made.action_mask,
                          logprobs=made.logprobs * made.action_mask, reward=reward, info=info, metrics=numbers,
                          prompt_text=made.prompt_text, response_text=made.response_text, truncate_status=status,
                          messages=made.messages)

    def process_messages_to_experience(self, messages, reward, info=None, truncate_status=None):
        """The experience of a finished conversation. The numbers in info become metrics."""
        made = self.model.convert_messages_to_experience(messages)
        return self._build_experience_from_converted(made, reward, info, truncate_status)

    async def process_messages_to_experience_async(self, messages, reward, info=None, truncate_status=None):
        made = await self.model.convert_messages_to_experience_async(messages)
        return self._build_experience_from_converted(made, reward, info, truncate_status)


class BaseSimpleWorkflow(Workflow):
    """One question, one answer, one reward function."""

    def __init__(self, *, task, model, auxiliary_models=None):
        self.reset(task)
        super().__init__(task=task, model=model, auxiliary_models=auxiliary_models)

    def reset(self, task):
        self.task = task
        self.format_args = task.format_args
        self.system_prompt = task.format_args.system_prompt
        self.reply_prefix = task.format_args.reply_prefix
        self.reward_fn_args = task.reward_fn_args
        self.raw_task = task.raw_task
        self.task_desc = task.task_desc
        self.truth = task.truth
        self.is_eval = task.is_eval
        if not (isinstance(task.reward_fn, type) and issubclass(task.reward_fn, RewardFn)):
            raise ValueError("`reward_fn` must be a subclass of `RewardFn`: name one in default_reward_fn_type")
        self.reward_fn = task.reward_fn(**self.reward_fn_args)

    def set_repeat_times(self, repeat_times, run_id_base):
        super().set_repeat_times(repeat_times, run_id_base)
        self.task.rollout_args.n = repeat_times

    @property
    def rollout_args(self):
        return asdict(self.task.rollout_args)

    def format_messages(self):
        """The conversation that the model answers."""
        messages = [{"role": "user", "content": self.task_desc}]
        if self.system_prompt:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        if self.reply_prefix:
            messages.append({"role": "assistant", "content": self.reply_prefix})
        return messages

    def _grade(self, responses):
        for i, response in enumerate(responses):
            parts = self.reward_fn(response=response.response_text, truth=self.truth)
            response.metrics.update(parts)
            response.reward = sum(parts.values())
            response.eid.run = i + self.run_id_base
        return responses


class SimpleWorkflow(BaseSimpleWorkflow):
    """A question that is asked once for all repetitions."""

    can_reset: bool = True
    can_repeat: bool = True

    def run(self):
        return self._grade(self.model.chat(self.format_messages(), **self.rollout_args))


class AsyncSimpleWorkflow(BaseSimpleWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def run_async(self):
        return self._grade(await self.model.chat_async(self.format_messages(), **self.rollout_args))


THINK_PROMPT = """Solve the problem. First work it out inside <think> and </think>, then give the result alone inside \
<answer> and </answer>, in this form:
<think> the steps </think><answer> the result </answer>"""
"""What math_workflow says when no system prompt is given: the words that it has in Go."""


class MathWorkflow(SimpleWorkflow):
    """A question of mathematics, graded by math_reward where nothing else is named."""

    def reset(self, task):
        from trinity.common.rewards.math_reward import MathRewardFn

        if task.reward_fn is None:
            task.reward_fn = MathRewardFn
        if task.reward_fn == MathRewardFn and task.format_args.system_prompt is None:
            task.format_args.system_prompt = THINK_PROMPT
        super().reset(task)


class AsyncMathWorkflow(AsyncSimpleWorkflow, MathWorkflow):
    """The same as a coroutine."""
