"""workflow.run: runs a task in a workflow of its own."""

import inspect

from trinity import _seam
from trinity._plugin import wire
from trinity.common.config import FormatConfig, GenerationConfig, asked, of
from trinity.common.models.model import ModelWrapper
from trinity.common.rewards import REWARD_FUNCTIONS
from trinity.common.workflows import WORKFLOWS, Task


def workflow(args, call):
    """args: name, task, repeat, run, model, auxiliary. Coroutines continue on the event loop."""
    with _seam.within(call):
        made = _make(args, call)
        if getattr(type(made), "is_async", False):
            return _later(made, args, call)
        return _experiences(made.run(), made, args)


async def _later(made, args, call):
    with _seam.within(call):
        return _experiences(await made.run_async(), made, args)


def _make(args, call):
    cls = WORKFLOWS.get(args["name"])
    task, model = args["task"], args["model"]
    t = Task(workflow=cls, repeat_times=args["repeat"], format_args=of(FormatConfig, task["format"]),
             rollout_args=of(GenerationConfig, task["rollout_args"]), workflow_args=task["workflow_args"] or {},
             reward_fn_args=task["reward_fn_args"] or {}, is_eval=task["is_eval"],
             reward_fn=REWARD_FUNCTIONS.get(task["reward"] or None), raw_task=task["row"], batch_id=task["batch"],
             task_id=task["task"], index=task["index"])
    t.rollout_args.n = args["repeat"]
    key = t.format_args.system_prompt_key
    if key and t.raw_task.get(key):
        t.format_args.system_prompt = t.raw_task[key]
    wrapper = ModelWrapper(asked(model), call, model["version"])
    judges = [ModelWrapper(asked(m), call, 0, i) for i, m in enumerate(args.get("auxiliary") or [])]
    made = cls(task=t, model=wrapper, auxiliary_models=judges or None)
    if getattr(cls, "can_repeat", False):
        made.set_repeat_times(args["repeat"], args["run"])
    return made


def _experiences(made, workflow, args):
    name = type(workflow).__name__
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError(f"{name}.run() is a coroutine; call it run_async and set is_async = True")
    out = wire.outgoing(made, f"{name}.run()")
    if not out:
        raise ValueError(f"{name}.run() returned an empty list; it must return at least one experience")
    return {"experiences": out}
