"""Evaluation of mathematics as Qwen2.5-Math has it."""

from trinity import _missing
from trinity.common.rewards.qwen25_eval import verify_math_answer
from trinity.common.workflows.workflow import Task, Workflow  # noqa: F401 for those who import

__getattr__ = _missing.attribute(__name__)


class MathEvalWorkflow(Workflow):
    """Asks the column question and measures accuracy."""

    def __init__(self, *, task, model, auxiliary_models=None):
        super().__init__(task=task, model=model, auxiliary_models=auxiliary_models)
        if "question" not in (task.raw_task or {}):
            raise ValueError(f"{type(self).__name__} reads the column question, and the row has "
                             f"{', '.join(task.raw_task or {})}")
        self.question = task.raw_task["question"]
        self.eval_gen_args = {"temperature": 0.6, "top_p": 0.8, "logprobs": 0, "n": 1,
                              "max_tokens": task.rollout_args.max_tokens}

    def format_messages(self):
        return [{"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": f"{self.question}\nReason step by step, and put the final answer inside "
                                            "\\boxed{}."}]

    def _measure(self, responses):
        for response in responses:
            if response.response_text is not None and self.task.truth is not None:
                response.metrics["accuracy"], _ = verify_math_answer(response.response_text, self.task.truth)
        return responses

    def run(self):
        return self._measure(self.model.chat(self.format_messages(), **self.eval_gen_args))


class AsyncMathEvalWorkflow(MathEvalWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def run_async(self):
        return self._measure(await self.model.chat_async(self.format_messages(), **self.eval_gen_args))
