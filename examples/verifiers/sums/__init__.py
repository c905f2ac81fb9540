"""An environment of verifiers: the word problems of examples/tiny, with a harness that runs within the env server."""

import json
import re
from pathlib import Path

import httpx
import verifiers.v1 as vf
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult

__all__ = ["SumsTaskset", "SumsHarness"]

DATA = Path(__file__).resolve().parents[2] / "tiny" / "data"


class SumsData(vf.TaskData):
    answer: str


class SumsTask(vf.Task[SumsData]):
    @vf.reward(weight=1.0)
    async def accuracy(self, trace: vf.Trace) -> float:
        found = re.search(r"<answer>\s*(-?\d+)\s*</answer>", trace.last_reply or "")
        return float(bool(found) and found[1] == self.data.answer)


class SumsConfig(vf.TasksetConfig):
    split: str = "train"


class SumsTaskset(vf.Taskset[SumsTask, SumsConfig]):
    def load(self):
        with open(DATA / f"{self.config.split}.jsonl", encoding="utf-8") as rows:
            for i, line in enumerate(rows):
                row = json.loads(line)
                answer = row["answer"].split("####")[-1].strip()
                data = SumsData(idx=i, prompt=row["question"], system_prompt="Think, then answer.", answer=answer)
                yield SumsTask(data, self.config.task)


class SumsHarness(Harness[vf.HarnessConfig]):
    """Asks the model once, without a program of its own: an episode costs milliseconds and not a second."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [
            {"role": m.role, "content": m.content} for m in prompt or []]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        # the endpoint is plain http, and reading the certificates would take longer than the episode
        async with httpx.AsyncClient(timeout=None, trust_env=False, verify=False) as client:
            answer = await client.post(endpoint.rstrip("/") + "/chat/completions", headers={"Authorization": f"Bearer {secret}"},
                                       json={"model": ctx.model, "messages": messages})
        if answer.status_code != 200:
            return ProgramResult(1, "", answer.text)
        return ProgramResult(0, "", "")
