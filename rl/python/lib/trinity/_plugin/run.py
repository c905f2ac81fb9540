"""workflow.run: runs a task in a workflow of its own."""

import inspect

from trinity import _seam
from trinity._plugin import wire
from trinity.common.config import FormatConfig, GenerationConfig, asked, of
from trinity.common.models.model import ModelWrapper
from trinity.common.rewards import REWARD_FUNCTIONS
from trinity.common.workflows import WORKFLOWS, Task, Workflow
from trinity.common.workflows.workflow import Status
from trinity.utils.metrics import aggregate_run_level_metrics


def workflow(args, call):
    """args: name, task, repeat, run, model, auxiliary. Coroutines continue on the event loop."""
    with _seam.within(call):
        made = _make(args, call)
        if getattr(type(made), "execute", Workflow.execute) is not Workflow.execute:
            return _executed(made, args, call)
        if getattr(type(made), "is_async", False):
            return _later(made, args, call)
        return _experiences(made.run(), made, args)


async def _later(made, args, call):
    with _seam.within(call):
        return _experiences(await made.run_async(), made, args)


async def _executed(made, args, call):
    """A workflow whose experiences are what the model recorded."""
    name = type(made).__name__
    with _seam.within(call):
        status = await made.execute()
        if not isinstance(status, Status):
            raise TypeError(f"{name}.execute() returned {type(status).__name__}; it must return a Status")
        if not status.ok:
            raise RuntimeError(f"{name} completed {status.completed_runs} of {status.total_runs} runs: {status.message}")
        exps, measured = await made.model.drain_async(), aggregate_run_level_metrics(status.metrics)
    if not exps:
        raise ValueError(f"{name} recorded nothing: it or its agent must ask the model at self.base_url")
    without = sum(e.reward is None for e in exps)
    if without and not args["task"]["is_eval"]:
        raise ValueError(f"{name} gave {without} of {len(exps)} recorded conversations no reward: call update_reward(), without "
                         "sample_ids for all of them")
    for e in exps:
        e.metrics = {**measured, **e.metrics}
    return {"experiences": wire.outgoing(exps, f"{name}.execute()")}


def _make(args, call):
    cls = WORKFLOWS.get(args["name"])
    task, model = args["task"], args["model"]
    t = Task(workflow=cls, repeat_times=args["repeat"], format_args=of(FormatConfig, task["format"]),
             rollout_args=of(GenerationConfig, task["rollout_args"]), workflow_args=task["workflow_args"] or {},
             reward_fn_args=task["reward_fn_args"] or {}, is_eval=task["is_eval"],
             reward_fn=REWARD_FUNCTIONS.get(task["reward"] or None), raw_task=task["row"], batch_id=task["batch"],
             task_id=task["task"], run_id=args["run"], index=task["index"])
    t.rollout_args.n = args["repeat"]
    key = t.format_args.system_prompt_key
    if key and t.raw_task.get(key):
        t.format_args.system_prompt = t.raw_task[key]
    wrapper = ModelWrapper(config=asked(model), call=call, version=model["version"])
    judges = [ModelWrapper(config=asked(m), call=call, auxiliary=i) for i, m in enumerate(args.get("auxiliary") or [])]
    made = cls(task=t, model=wrapper, auxiliary_models=judges or None)
    if getattr(cls, "can_repeat", False):
        made.set_repeat_times(args["repeat"], args["run"])
    elif hasattr(made, "set_single_run_context"):
        made.set_single_run_context(args["run"])
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
