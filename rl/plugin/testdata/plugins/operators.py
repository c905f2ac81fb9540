"""Operators of both base classes, and a reader."""

from typing import Dict, List, Tuple

from trinity.buffer.buffer_reader import BufferReader
from trinity.buffer.operators import EXPERIENCE_OPERATORS, ExperienceOperator, ExperienceOperatorV1
from trinity.buffer.reader import READER
from trinity.common.experience import Experience
from trinity.common.workflows import Task
from trinity.utils.monitor import gather_metrics


@EXPERIENCE_OPERATORS.register_module("halve")
class Halve(ExperienceOperator):
    def __init__(self, factor: float = 0.5):
        self.factor = factor
        self.calls = 0

    def process(self, exps: List[Experience]) -> Tuple[List[Experience], Dict]:
        self.calls += 1
        for exp in exps:
            exp.reward *= self.factor
            assert exp.info["task_index"]["index"] >= 0
        metrics = gather_metrics([{"reward": e.reward} for e in exps], "halved")
        return exps, {"halve_calls": self.calls, "halved_mean": metrics["halved/reward/mean"]}


@EXPERIENCE_OPERATORS.register_module("rate_quality")
class RateQuality(ExperienceOperator):
    """Leaves a number in info, beside those of a workflow, which stay."""

    def process(self, exps: List[Experience]) -> Tuple[List[Experience], Dict]:
        for exp in exps:
            assert exp.info["step_reward"] in (0, 1) and "odd" in exp.metrics, exp.info
            assert not any("step_reward" in k or "said" in k for k in exp.metrics), exp.metrics
            exp.info["quality"] = 0.75
        return exps, {}


@EXPERIENCE_OPERATORS.register_module("drop_first_run")
class DropFirstRun(ExperienceOperatorV1):
    async def prepare(self):
        self.ready = True

    async def process(self, exps):
        assert self.ready
        kept = [e for e in exps if e.eid.run != 0]
        return kept, {"filtered_count": len(exps) - len(kept)}


@EXPERIENCE_OPERATORS.register_module("judging")
class Judging(ExperienceOperatorV1):
    """Rewards by what an auxiliary model says."""

    async def process(self, exps):
        client = self.auxiliary_models[0][0]
        for exp in exps:
            said = await client.chat.completions.create(model="judge", messages=[
                {"role": "user", "content": exp.response_text or "nothing"}])
            exp.reward = float(len(said.choices[0].message.content))
        return exps, {"judged": len(exps)}


@READER.register_module("counting")
class Counting(BufferReader):
    """Rows that are made up."""

    def __init__(self, config):
        self.config = config
        self.next = 0

    async def read(self, batch_size=None, **kwargs):
        if self.next == 12:
            raise StopAsyncIteration
        self.next += 1
        return [Task(raw_task={"question": f"What is {self.next} + 1?", "answer": str(self.next + 1)})]
