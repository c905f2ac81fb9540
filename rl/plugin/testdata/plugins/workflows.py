"""Workflows of every base class, in the forms that plug-in files have."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import List, Optional

from trinity.common.experience import EID, Experience, group_by
from trinity.common.models.model import ModelWrapper
from trinity.common.rewards.math_reward import MathRewardFn
from trinity.common.rewards.reward_fn import RewardFn
from trinity.common.workflows.customized_math_workflows import MathBoxedWorkflow
from trinity.common.workflows.step_wise_workflow import (
    AsyncRewardPropagationWorkflow,
    RewardPropagationWorkflow,
    StepWiseRewardWorkflow,
)
from trinity.common.workflows.workflow import (
    WORKFLOWS,
    AsyncSimpleWorkflow,
    MathWorkflow,
    MultiTurnWorkflow,
    SimpleWorkflow,
    Task,
    Workflow,
)
from trinity.plugins.words import digits


def grade(text):
    return 0.1 * digits(text) - 0.001 * len(text)


def ask(task):
    messages = [{"role": "user", "content": task.task_desc}]
    if task.format_args.system_prompt:
        messages.insert(0, {"role": "system", "content": task.format_args.system_prompt})
    return messages


@WORKFLOWS.register_module("own_simple")
class OwnSimple(SimpleWorkflow):
    def format_messages(self):
        return super().format_messages()


@WORKFLOWS.register_module("own_async_simple")
class OwnAsyncSimple(AsyncSimpleWorkflow):
    pass


@WORKFLOWS.register_module("own_math")
class OwnMath(MathWorkflow):
    def run(self) -> List[Experience]:
        made = super().run()
        for exp in made:
            exp.metrics["tokens"] = float(len(exp.tokens) - exp.prompt_length)
        return made


@WORKFLOWS.register_module("own_boxed")
class OwnBoxed(MathBoxedWorkflow):
    pass


@WORKFLOWS.register_module("bare")
class Bare(Workflow):
    """A plain workflow that repeats by itself and masks what it likes."""

    can_reset: bool = True
    can_repeat: bool = True

    def __init__(self, *, task: Task, model: ModelWrapper, auxiliary_models: Optional[List] = None):
        super().__init__(task=task, model=model, auxiliary_models=auxiliary_models)
        self.reset(task)

    def reset(self, task):
        self.task = task

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times
        self.run_id_base = run_id_base

    def run(self) -> List[Experience]:
        args = {**asdict(self.task.rollout_args), "n": self.repeat_times, "temperature": 0.9, "top_p": 0.95}
        made = self.model.chat(ask(self.task), **args)
        for i, exp in enumerate(made):
            exp.reward = grade(exp.response_text)
            exp.eid.run = i + self.run_id_base
            exp.metrics = {"odd": float(i % 2), "index": float(self.task.index["index"])}
            exp.info["anything"] = {"goes": [1, 2]}
            assert exp.logprobs.shape[0] == len(exp.tokens) - exp.prompt_length
            assert abs(exp.logprobs.sum().item() - sum(exp.logprobs.tolist())) < 1e-3
            exp.action_mask[0] = False
        assert len(group_by(made, "run")) == self.repeat_times
        return made[::-1]


@WORKFLOWS.register_module("informed")
class Informed(Bare):
    """What it measures is in info, as upstream's operators and gigpo read it."""

    def run(self) -> List[Experience]:
        made = super().run()
        for exp in made:
            exp.info = {"env_state_hash": f"{self.task.task_id}: north", "step_reward": exp.eid.run % 2 == 0,
                        "far": 10**400, "array": [1, 2], "said": "yes"}
        return made


@WORKFLOWS.register_module("turns")
class Turns(MultiTurnWorkflow):
    """Two turns as one experience."""

    def run(self) -> List[Experience]:
        messages = ask(self.task)
        for _ in range(2):
            answer = self.model.chat(messages, n=1)[0].response_text
            messages.append({"role": "assistant", "content": answer})
            messages.append({"role": "user", "content": "Are you sure?"})
        made = self.process_messages_to_experience(messages[:-1], grade(answer), info={"turns": 2, "text": "x"})
        assert sum(made.action_mask.tolist()) > 1
        return [made]


@WORKFLOWS.register_module("edited_turns")
class EditedTurns(MultiTurnWorkflow):
    """A conversation with an answer that nobody sampled."""

    is_async: bool = True

    async def run_async(self) -> List[Experience]:
        messages = ask(self.task) + [{"role": "assistant", "content": "Let me think."},
                                     {"role": "user", "content": "Go on."}]
        answer = (await self.model.chat_async(messages, n=1))[0]
        messages.append({"role": "assistant", "content": answer.response_text})
        assert await self.model.get_message_token_len(messages[:2]) > 2
        return [await self.process_messages_to_experience_async(messages, grade(answer.response_text))]


@WORKFLOWS.register_module("gathered")
class Gathered(Workflow):
    """Several calls at once, one experience for each, of which one is left out."""

    is_async: bool = True

    async def run_async(self) -> List[Experience]:
        calls = [self.model.chat_async(ask(self.task), n=1, max_tokens=4 + k) for k in range(3)]
        calls.append(self.model.generate_async(["Q: 1+1\nA:"], n=2, max_tokens=5))
        made = [exp for some in await asyncio.gather(*calls) for exp in some]
        for step, exp in enumerate(made):
            exp.reward = grade(exp.response_text)
            exp.eid.step = step
        return made[1:]


@WORKFLOWS.register_module("by_hand")
class ByHand(Workflow):
    """Experiences that the workflow puts together."""

    def run(self) -> List[Experience]:
        first = self.model.chat(ask(self.task), n=1)[0]
        scored = self.model.logprobs(first.tokens.tolist())
        assert scored[first.prompt_length - 1 :].tolist() == first.logprobs.tolist(), "the same bits either way"
        tokens = first.tokens.tolist()
        copied = Experience(eid=EID(run=0, step=1), tokens=tokens, prompt_length=first.prompt_length,
                            logprobs=first.logprobs.tolist(), reward=grade(first.response_text))
        later = min(first.prompt_length + 1, len(tokens) - 1)
        other = Experience(tokens=tokens, prompt_length=later, logprobs=[-1.0] * (len(tokens) - later), reward=0.5)
        return [copied, other]


@WORKFLOWS.register_module("step_wise")
class StepWise(StepWiseRewardWorkflow):
    @property
    def max_step_num(self):
        return 3

    def step(self, step_num):
        self.said = self.model.chat(ask(self.task), n=1, max_tokens=4)[0].response_text
        return step_num < 1

    def reward(self, exps, step_num):
        assert len(exps) == 1
        return grade(self.said) + step_num


@WORKFLOWS.register_module("propagated")
class Propagated(RewardPropagationWorkflow):
    @property
    def max_step_num(self):
        return 2

    def step(self, step_num):
        self.said = self.model.chat(ask(self.task), n=1, max_tokens=4)[0].response_text
        return True

    def reward(self, exps):
        return grade(self.said)


class AsyncPropagated(AsyncRewardPropagationWorkflow):
    @property
    def max_step_num(self):
        return 2

    async def step_async(self, step_num):
        self.said = (await self.model.chat_async(ask(self.task), n=1, max_tokens=4))[0].response_text
        return True

    async def reward_async(self, exps):
        return grade(self.said)


WORKFLOWS.register_module("async_propagated", AsyncPropagated)


@WORKFLOWS.register_module("judged")
class Judged(Workflow):
    """Asks auxiliary models, as a client and as a model."""

    def run(self):
        made = self.model.chat(ask(self.task), n=1)
        client = self.auxiliary_models[0]
        said = client.chat.completions.create(model=client.model_path, messages=[
            {"role": "user", "content": made[0].response_text or "nothing"}], temperature=0.5)
        other = self.auxiliary_model_wrappers[0].chat([{"role": "user", "content": "hm"}], n=2)
        assert len(other) == 2 and isinstance(other[0].response_text, str)
        made[0].reward = grade(said.choices[0].message.content)
        made[0].metrics["heard"] = float(len(said.choices[0].message.content))
        return made


@WORKFLOWS.register_module("one_by_one")
class OneByOne(Workflow):
    """Notes in a file which tasks it began."""

    can_repeat: bool = True

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times = repeat_times

    def run(self):
        with open(self.task.workflow_args["notes"], "a") as f:
            f.write(f"{self.task.batch_id}/{self.task.task_id}\n")
        made = self.model.chat(ask(self.task), n=self.repeat_times)
        for i, exp in enumerate(made):
            exp.eid.run, exp.reward = i, MathRewardFn()(response=exp.response_text, truth=self.task.truth)["accuracy"] + (
                grade(exp.response_text))
        return made


@WORKFLOWS.register_module("with_openai")
class WithOpenAI(Workflow):
    """Two turns over the rollout URL."""

    def run(self):
        client = self.model.get_openai_client()
        messages = ask(self.task)
        for turn in range(2):
            said = client.chat.completions.create(model=client.model_path, messages=messages)
            answer = said.choices[0].message.content
            messages = messages + [{"role": "assistant", "content": answer}, {"role": "user", "content": "Are you sure?"}]
        made = self.model.extract_experience_from_history()
        for step, exp in enumerate(made):
            exp.eid.step, exp.reward = step, grade(answer)
        return made


@WORKFLOWS.register_module("streamed")
class Streamed(Workflow):
    """Two answers at once over the rollout URL, and one as a stream."""

    can_repeat: bool = True

    def run(self):
        client, asked = self.model.get_openai_client(), {"model": self.model.model_path, "messages": ask(self.task)}
        said = client.chat.completions.create(n=2, **asked)
        assert [c.index for c in said.choices] == [0, 1]
        texts = [c.message.content for c in said.choices]
        with client.chat.completions.create(stream=True, **asked) as stream:
            texts.append("".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices))
        made = self.model.extract_experience_from_history()
        assert [exp.response_text for exp in made] == texts, (texts, made)
        for exp in made:
            exp.reward = grade(exp.response_text)
        return made
