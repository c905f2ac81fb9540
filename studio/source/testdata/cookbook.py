"""Makes testdata/cookbook with tinker-cookbook itself: python cookbook.py (tinker-cookbook 0.4 or newer).

Two groups of four answers, of which the log tree has one, as num_groups_to_log does it. The answers end in another order than they began.
"""
import asyncio, json, os, pathlib, types

import tinker
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.renderers import base
from tinker_cookbook.rl import rollout_logging, rollouts
from tinker_cookbook.rl.problem_env import ProblemEnv, ProblemGroupBuilder
from tinker_cookbook.utils import logtree

HERE = pathlib.Path(__file__).parent / "cookbook"
ANSWERS = [["I add: it is 12.", "No idea", "<b>13</b>", "12"], ["7", "8", "seven", "It is 7, I think"]]


class Renderer:
    """One token for each letter."""

    def build_generation_prompt(self, convo):
        return tinker.ModelInput.from_ints([ord(c) for m in convo for c in m["content"]])

    def get_stop_sequences(self):
        return ["\n"]

    def parse_response(self, action):
        text = "".join(map(chr, action))
        parts = [base.ThinkingPart(type="thinking", thinking="plus?"), base.TextPart(type="text", text=text)] if "add" in text else text
        return {"role": "assistant", "content": parts}, types.SimpleNamespace(is_stop_sequence=True, is_clean=True)


class Sum(ProblemEnv):
    def __init__(self, question, answer):
        super().__init__(Renderer())
        self.question, self.answer = question, answer

    def get_question(self):
        return self.question

    def check_answer(self, text):
        return self.answer in text

    def check_format(self, text):
        return True

    def get_reference_answer(self):
        return self.answer


def policy(answers):
    n = 0

    async def sample(*_, **__):
        nonlocal n
        mine, n = n, n + 1
        await asyncio.sleep(0.05 * (len(answers) - mine))  # the first ends last
        tokens = [ord(c) for c in answers[mine]]
        return TokensWithLogprobs(tokens=tokens, maybe_logprobs=[-1.0] * len(tokens))

    return sample


async def main():
    os.chdir("/")
    groups = [("What is 5 and 7?", "12"), ("What is 3 and 4?", "7")]
    done = []
    with logtree.init_trace("RL Iteration 2") as trace:
        for i, (question, answer) in enumerate(groups):
            with logtree.optional_enable_logging(i < 1):
                builder = ProblemGroupBuilder(lambda: Sum(question, answer), 4, "sums")
                done.append(await rollouts.do_group_rollout(builder, policy(ANSWERS[i])))
    folder = HERE / "iteration_000002"
    folder.mkdir(parents=True, exist_ok=True)
    tree = trace.to_dict()
    tree["started_at"] = "2026-01-01T00:00:00"
    (folder / "train_logtree.json").write_text(json.dumps(tree) + "\n")
    lines = rollout_logging.serialize_rollout_summaries(split="train", iteration=2, trajectory_groups_P=done, taglist_P=[["sums"]] * 2, sampling_client_steps_P=[2, 2])
    (folder / "train_rollout_summaries.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    (HERE / "metrics.jsonl").write_text(json.dumps({"step": 2, "env/all/reward/total": 0.25}) + "\n")
    (HERE / "config.json").write_text(json.dumps({"model_name": "letters"}) + "\n")


asyncio.run(main())
