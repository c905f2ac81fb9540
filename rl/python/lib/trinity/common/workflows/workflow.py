"""The base classes of workflows."""

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Optional, Type, Union

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
})


@dataclass
class Task(dict):
    """One row to work on, with how it is run and graded."""

    workflow: Optional[Type["Workflow"]] = None
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
    index: Dict[str, Any] = field(default_factory=dict)

    def to_workflow(self, model, auxiliary_models=None):
        return self.workflow(model=model, task=self, auxiliary_models=auxiliary_models)

    @property
    def task_desc(self):
        return (self.raw_task or {}).get(self.format_args.prompt_key)

    @property
    def truth(self):
        return (self.raw_task or {}).get(self.format_args.response_key)

    def to_dict(self):
        return self.raw_task


class Workflow:
    """Makes experiences of a task: subclasses have run, or run_async and is_async = True."""

    can_reset: bool = False
    can_repeat: bool = False
    is_async: bool = False

    def __init__(self, *, task, model, auxiliary_models=None):
        self.task = task
        self.model = model
        self.auxiliary_model_wrappers = auxiliary_models
        self.auxiliary_models = None
        if auxiliary_models:
            ask = "get_openai_async_client" if self.__class__.is_async else "get_openai_client"
            self.auxiliary_models = [getattr(m, ask)() for m in auxiliary_models]
        self.run_id_base = 0
        self.logger = get_logger(type(self).__module__)

    @property
    def resettable(self):
        return self.__class__.can_reset

    @property
    def repeatable(self):
        return self.__class__.can_repeat

    @property
    def asynchronous(self):
        return self.__class__.is_async

    def reset(self, task):
        raise NotImplementedError(f"{type(self).__name__} has no reset()")

    def set_repeat_times(self, repeat_times, run_id_base):
        raise NotImplementedError(f"{type(self).__name__} says can_repeat and has no set_repeat_times()")

    def run(self):
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    async def run_async(self):
        raise NotImplementedError(f"{type(self).__name__} says is_async and has no run_async()")


class RepeatableWorkflow(Workflow):
    """A workflow that runs its task several times within one run."""

    can_repeat: bool = True

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times
        self.run_id_base = run_id_base


class MultiTurnWorkflow(Workflow):
    """A workflow whose conversation is one experience."""

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times
        self.run_id_base = run_id_base

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
        if not (isinstance(task.reward_fn, type) and issubclass(task.reward_fn, RewardFn)):
            raise ValueError("`reward_fn` must be a subclass of `RewardFn`: name one in default_reward_fn_type")
        self.reward_fn = task.reward_fn(**self.reward_fn_args)

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times
        self.task.rollout_args.n = repeat_times
        self.run_id_base = run_id_base

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
