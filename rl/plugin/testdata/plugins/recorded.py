"""Workflows whose experiences are what the model recorded."""

import asyncio
import json
import urllib.request

from trinity.buffer.store import ExperienceUpdate
from trinity.common.experience import Experience
from trinity.common.workflows.workflow import WORKFLOWS, Metrics, Status, WorkflowBase, WorkflowWithRecording
from trinity.plugins.words import digits


def asks(base_url, api_key, model, messages):
    """What an agent of any kind does: a request of OpenAI's interface."""
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps({"model": model, "messages": messages}).encode(),
                                     {"Content-Type": "application/json", "Authorization": f"Bearer {api_key}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def agent(base_url, api_key, model, question):
    """A conversation of two turns, then one of one turn."""
    messages = [{"role": "user", "content": question}]
    for _ in range(2):
        messages.append({"role": "assistant", "content": asks(base_url, api_key, model, messages)})
        messages.append({"role": "user", "content": "Are you sure?"})
    return messages[3]["content"] + asks(base_url, api_key, model, [{"role": "user", "content": "Say it again."}])


@WORKFLOWS.register_module("recorded")
class Recorded(WorkflowWithRecording):
    async def run_async(self) -> Metrics:
        said = await asyncio.to_thread(agent, self.base_url, self.api_key, self.model_name, self.task.task_desc)
        await self.update_reward(0.1 * digits(said) - 0.001 * len(said), info={"agent": "urllib"})
        first, second = self.model.extract_experience_from_history(clear_history=False, key=self.api_key)
        assert first.info["merged_turn_count"] == 2 and first.info["agent"] == "urllib"
        assert 0 < sum(first.action_mask.tolist()) < len(first.action_mask), "the second question is masked"
        assert "merged_turn_count" not in second.info
        await self.update_reward(first.reward + 0.25, sample_ids=[first.eid.suffix])
        assert second.reward + 0.25 == first.reward
        return {"said": float(len(said))}


@WORKFLOWS.register_module("executes")
class Executes(WorkflowBase):
    def __init__(self, *, task, model, auxiliary_models=None):
        super().__init__(task=task, model=model)

    async def execute(self) -> Status:
        messages, key = [{"role": "user", "content": self.task.task_desc}], self.task.api_key
        made = await self.model.chat_async(messages, n=2, enable_recording=True)
        await self.model.chat_async(messages, n=1)  # is not recorded
        copies = Experience.deserialize_many(await self.model.drain_experience_records_bytes_async(key))
        assert [c.tokens.tolist() for c in copies] == [m.tokens.tolist() for m in made]
        await self.model.overwrite_history_experiences_async(copies, key)
        await self.model.update_experience_records_async(key, ExperienceUpdate(reward=digits(made[0].response_text) + 0.1))
        return Status(completed_runs=1, total_runs=1, metrics=[{"drawn": 2.0}], successful_ids=[key])
