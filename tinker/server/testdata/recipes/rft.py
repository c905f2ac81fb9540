"""Trainings of the real Trinity-RFT over its Tinker backend, unmodified, against `trinity serve`.

Its package imports vllm and verl, which its Tinker backend does not use and which need a GPU: stubs stand for them (sitecustomize below). The rest,
Ray included, is real: explorer, buffer, synchronizer and trainer run as upstream runs them.
"""

import contextlib
import json
import pathlib
import shutil
import subprocess
import time

from runner import ROOT, check

RELEASE = "0.6.0"
RAY_PORT = 6411
# What trinity/ imports besides torch, transformers, datasets and tinker, which the environment has.
NEEDS = ["ray[default]>=2.50.0", "omegaconf", "sqlalchemy", "aiosqlite", "greenlet", "psycopg2-binary", "sortedcontainers", "word2number", "jsonlines", "tensordict", "fire", "typer", "flask",
         "ninja", "pybase64", "tensorboard", "openai"]

STUBS = '''
import importlib.abc, importlib.machinery, sys, types


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ("vllm", "verl") else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__, module.__version__ = [], "0.20.0"
        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


def attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})


sys.meta_path.append(Stubs())
'''

CONFIG = """
mode: both
project: rft
group: ""
name: gsm8k
checkpoint_root_dir: {root}
algorithm:
  algorithm_type: grpo
  repeat_times: 8
  kl_loss_fn: none
  optimizer: {{lr: 5.0e-4}}
model:
  model_path: tiny/lm
  max_prompt_tokens: 128
  max_response_tokens: 50
  tinker: {{enable: true, rank: 32, seed: 1, base_url: "{url}"}}
cluster: {{node_num: 1, gpu_per_node: 1}}
buffer:
  batch_size: 8
  total_steps: {steps}
  explorer_input:
    taskset:
      name: taskset
      storage_type: file
      path: {data}
      split: train
      format: {{prompt_key: question, response_key: answer, system_prompt: "Think, then answer."}}
      rollout_args: {{temperature: 1.0}}
    default_workflow_type: math_workflow
  trainer_input:
    experience_buffer: {{name: experience_buffer, storage_type: queue}}
explorer:
  runner_per_model: 4
  rollout_model: {{engine_num: 1}}
trainer: {{save_interval: {steps}}}
monitor: {{monitor_type: tensorboard}}
synchronizer: {{sync_method: memory, sync_style: fixed, sync_interval: 1, sync_timeout: 600}}
"""


def environment(r):
    """Adds what Trinity-RFT needs to the environment, and the package itself, without its GPU dependencies, beside it."""
    beside = r.work / f"rft-{RELEASE}"
    if not beside.exists():
        subprocess.run([r.python, "-m", "pip", "install", "-q", *NEEDS], check=True)
        subprocess.run([r.python, "-m", "pip", "install", "-q", "--no-deps", "--target", beside, f"trinity-rft=={RELEASE}"], check=True)
    stubs = r.work / "stubs"
    stubs.mkdir(exist_ok=True)
    (stubs / "sitecustomize.py").write_text(STUBS)
    r.env.update(PYTHONPATH=f"{stubs}:{beside}", RAY_USAGE_STATS_ENABLED="0", RAY_ADDRESS=f"127.0.0.1:{RAY_PORT}")
    r.env.pop("CUDA_VISIBLE_DEVICES", None)  # Ray compares it with the one GPU that upstream demands


@contextlib.contextmanager
def cluster(r):
    """A Ray cluster of one node, which ends with the training."""
    ray = pathlib.Path(r.python).parent / "ray"
    args = ["start", "--head", "--block", "--port", str(RAY_PORT), "--num-cpus", "4", "--num-gpus", "1", "--include-dashboard", "false", "--object-store-memory", "300000000"]
    with open(r.work / "ray.log", "wb") as log:
        p = subprocess.Popen([ray, *args], env=r.env, stdout=log, stderr=log)
    try:
        for _ in range(120):
            if subprocess.run([ray, "status"], env=r.env, capture_output=True).returncode == 0:
                break
            check(p.poll() is None, f"ray ended; see {r.work}/ray.log")
            time.sleep(1)
        yield
    finally:
        p.terminate()
        p.wait()


def rft(r, steps=6):
    environment(r)
    r.say(f"# Trinity-RFT over Tinker, unmodified, vllm and verl stubbed: {r.versions('trinity-rft', 'tinker', 'ray', 'torch', 'transformers')}")
    root = r.work / "rft-jobs"
    shutil.rmtree(root, ignore_errors=True)
    config = r.work / "rft.yaml"
    config.write_text(CONFIG.format(root=root, url=r.server.url, data=ROOT / "examples/tiny/data", steps=steps))
    with cluster(r):
        r.run("rft", "-m", "trinity.cli.launcher", "run", "--config", str(config))
    found = scalars(r, root)
    for i in range(1, steps + 1):
        loss, reward, norm = (found.get(key, {}).get(i) for key in ("actor/final_loss", "rollout/accuracy/mean", "actor/grad_norm"))
        check(loss is not None and reward is not None, f"step {i} has no loss or accuracy; there is {sorted(found)}")
        r.say(f"step {i}: accuracy {reward:.4f}  final_loss {loss:.6f}" + (f"  grad_norm {norm:.4f}" if norm is not None else ""))
    runs = json.loads(subprocess.run([pathlib.Path(r.python).parent / "tinker", "-f", "json", "run", "list"], env=r.env, capture_output=True, text=True, check=True).stdout)["runs"]
    check(any(x["last_checkpoint"] for x in runs), f"no run has a saved state: {runs}")


def scalars(r, root):
    """The numbers that the job wrote for TensorBoard: by name, by step."""
    code = """
import collections, glob, json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
out = collections.defaultdict(dict)
for folder in {f.rpartition("/")[0] for f in glob.glob(sys.argv[1] + "/**/events.*", recursive=True)}:
    events = EventAccumulator(folder, {"scalars": 0})
    events.Reload()
    for tag in events.Tags()["scalars"]:
        out[tag].update({e.step: e.value for e in events.Scalars(tag)})
print(json.dumps(out))
"""
    out = json.loads(r.run("scalars", "-c", code, str(root)).splitlines()[-1])
    return {tag: {int(k): v for k, v in steps.items()} for tag, steps in out.items()}
