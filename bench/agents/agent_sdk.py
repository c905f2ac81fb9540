"""An agent of the OpenAI Agents SDK, whose second agent checks the first: a branch of the rollout."""

import asyncio
import json
import os
import re

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from agents.exceptions import ModelBehaviorError

set_default_openai_api("chat_completions")
set_tracing_disabled(True)
model = "policy"  # which every rollout knows; the SDK takes what precedes a slash in a name for a provider
with open(os.environ["TRINITY_TASK_FILE"]) as f:
    task = json.load(f)["task"]


async def run(agent, text):
    """What an agent says, "" if the model thought until its answer was cut: that is the model's fault and no failure."""
    try:
        return (await Runner.run(agent, text, max_turns=2)).final_output or ""
    except ModelBehaviorError:
        return ""


async def main():
    solver = Agent(name="solver", instructions="Think, then answer.", model=model)
    checker = Agent(name="checker", instructions="Say whether the answer is right.", model=model)
    said = await run(solver, task["question"])
    await run(checker, said or "Nothing was said.")
    return said


found = re.search(r"<answer>\s*(-?\d+)\s*</answer>", asyncio.run(main()))
with open(os.environ["TRINITY_REWARD_FILE"], "w") as f:
    f.write(str(float(bool(found) and found[1] == task["answer"].split("####")[-1].strip())))
