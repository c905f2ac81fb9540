"""A question whose reward function sees the whole experience."""

from trinity import _missing
from trinity.common.workflows.workflow import SimpleWorkflow, Task  # noqa: F401 for those who import

__getattr__ = _missing.attribute(__name__)


class MathRMWorkflow(SimpleWorkflow):
    """Calls reward_fn(experience, messages, ground_truth=truth)."""

    def _rate(self, responses, messages):
        for i, response in enumerate(responses):
            parts = self.reward_fn(response, messages, ground_truth=self.truth)
            response.metrics.update(parts)
            response.reward = sum(parts.values())
            response.eid.run = i + self.run_id_base
        return responses

    def run(self):
        messages = self.format_messages()
        return self._rate(self.model.chat(messages, **self.rollout_args), messages)


class AsyncMathRMWorkflow(MathRMWorkflow):
    """The same as a coroutine."""

    is_async: bool = True

    async def run_async(self):
        messages = self.format_messages()
        return self._rate(await self.model.chat_async(messages, **self.rollout_args), messages)
