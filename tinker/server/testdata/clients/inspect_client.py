"""What unmodified inspect-ai gets from `trinity serve`: small tasks with its own solvers and scorers."""

import importlib.metadata
import os
import pathlib

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from checks import BASE, CALLS, FINAL, KEY, STEPS, TEXT, URL, expect, report, result

LOGS = pathlib.Path(os.environ["CLIENTS_WORK"]) / "inspect"


@tool
def add():
    async def execute(a: int):
        """Add.

        Args:
            a: The number.
        """
        return result("add", a)
    return execute


@tool
def sub():
    async def execute(a: int):
        """Subtract.

        Args:
            a: The number.
        """
        return result("sub", a)
    return execute


def evaluate(name, base, samples, solver, config, **more):
    model = get_model(name, base_url=URL + base, api_key=KEY, config=GenerateConfig(max_retries=0, **config), **more)
    task = inspect_ai.Task(dataset=samples, solver=solver, scorer=[includes(), match()])
    log, = inspect_ai.eval(task, model=model, log_dir=str(LOGS), display="none")
    if log.status != "success":
        raise AssertionError(log.error.message if log.error else log.status)
    return log


def scores(log):
    return [(s.scores["includes"].value, s.scores["match"].value) for s in log.samples]


def loop(name, base, **more):
    """A loop with tools: two calls, one after the other, and an answer, which the scorers find right and then wrong."""
    samples = [Sample(input=TEXT, target="4"), Sample(input=TEXT, target="5")]
    log = evaluate(name + CALLS, base, samples, [use_tools(add(), sub()), generate()], {"temperature": 0, "max_tokens": 60}, **more)
    for s in log.samples:
        calls = [(c.function, c.arguments["a"]) for m in s.messages if m.role == "assistant" for c in m.tool_calls or []]
        expect(calls, [(name, a) for name, a, _ in STEPS])
        expect(s.output.completion, FINAL)
    expect(scores(log), [("C", "C"), ("I", "I")])


def many(name, base, **more):
    """Thirty samples at once, each with the same seed."""
    samples = [Sample(input=TEXT, target="\\") for _ in range(30)]
    log = evaluate(name + BASE, base, samples, generate(), {"temperature": 1, "seed": 7, "max_tokens": 40}, **more)
    expect(len({s.output.completion for s in log.samples}), 1)
    if not all(u.output_tokens for u in log.stats.model_usage.values()):
        raise AssertionError(log.stats)


def logprobs(name, base, **more):
    config = {"temperature": 0, "max_tokens": 8, "logprobs": True, "top_logprobs": 2}
    s, = evaluate(name + BASE, base, [Sample(input=TEXT, target="4")], generate(), config, **more).samples
    content = s.output.choices[0].logprobs.content
    if not content or not all(len(x.top_logprobs) == 2 and x.logprob == x.top_logprobs[0].logprob for x in content):
        raise AssertionError(content)


CHAT, RESPONSES = {"responses_api": False}, {"responses_api": True}
report("inspect-ai " + importlib.metadata.version("inspect-ai"), [
    ("chat/completions", "openai-api/: a loop with tools, includes() and match()", lambda: loop("openai-api/trinity/", "/v1")),
    ("chat/completions", "openai/: the same", lambda: loop("openai/", "/oai/api/v1", **CHAT)),
    ("chat/completions", "openai-api/: 30 samples at once, one seed", lambda: many("openai-api/trinity/", "/v1")),
    ("chat/completions", "openai-api/: logprobs", lambda: logprobs("openai-api/trinity/", "/v1")),
    ("responses", "openai/: a loop with tools, includes() and match()", lambda: loop("openai/", "/v1", **RESPONSES)),
    ("messages", "anthropic/: a loop with tools, includes() and match()", lambda: loop("anthropic/trinity/", "")),
])
