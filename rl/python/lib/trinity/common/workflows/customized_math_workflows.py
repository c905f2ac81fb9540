"""Mathematics with the answer in a LaTeX box."""

from trinity import _missing
from trinity.common.rewards.math_reward import MathBoxedRewardFn
from trinity.common.workflows.workflow import WORKFLOWS, SimpleWorkflow, Task, Workflow  # noqa: F401 for those who import

__getattr__ = _missing.attribute(__name__)

BOXED_PROMPT = "Reason step by step, and put the final answer inside \\boxed{}."
BOXED_THINK_PROMPT = ("First reason step by step inside <think> and </think>, then give the solution with the final "
                      "answer inside \\boxed{}.")


class MathBoxedWorkflow(SimpleWorkflow):
    """A question whose answer is in a box. workflow_args: use_base, with_think, format_score_coef."""

    def reset(self, task):
        self.task = task
        self.format_args = task.format_args
        self.system_prompt = task.format_args.system_prompt
        self.reply_prefix = task.format_args.reply_prefix
        self.raw_task = task.raw_task
        self.task_desc = task.task_desc
        self.truth = task.truth
        self.workflow_args = task.workflow_args
        self.reward_fn_args = task.reward_fn_args
        self.use_base = self.workflow_args.get("use_base", False)
        self.with_think = self.workflow_args.get("with_think", False)
        self.format_score_coef = self.workflow_args.get("format_score_coef", 0.1)
        if self.system_prompt is None:
            self.system_prompt = BOXED_THINK_PROMPT if self.with_think else BOXED_PROMPT
        self.reward_fn = (task.reward_fn or MathBoxedRewardFn)(**self.reward_fn_args)

    def format_prompt(self):
        """The question as plain text, for a model that knows no conversations."""
        head = f"System:{self.system_prompt}\n" if self.system_prompt else ""
        return f"{head}User:\n{self.task_desc}\nAssistant:\n"

    def _grade(self, responses):
        for i, response in enumerate(responses):
            parts = self.reward_fn(
                response=response.response_text, truth=self.truth, with_think=self.with_think,
                format_score_coef=self.format_score_coef, response_token=response.tokens[response.prompt_length :],
                info=response.info)
            response.metrics.update(parts)
            response.reward = sum(parts.values())
            response.eid.run = i + self.run_id_base
        return responses

    def run(self):
        if self.use_base:
            return self._grade(self.model.generate([self.format_prompt()], **self.rollout_args))
        return self._grade(self.model.chat(self.format_messages(), **self.rollout_args))


class AsyncMathBoxedWorkflow(MathBoxedWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def run_async(self):
        if self.use_base:
            return self._grade(await self.model.generate_async([self.format_prompt()], **self.rollout_args))
        return self._grade(await self.model.chat_async(self.format_messages(), **self.rollout_args))
