"""The environment and the server that other people's training programs run in, and what was checked."""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.insert(0, str(HERE.parent))
from serving import Server  # noqa: E402

# The releases of tinker-cookbook. The first has its dependencies installed with it; a later one is laid beside them, since it asks for versions of
# others (tml-renderers) that not every Python has.
RELEASES = ["0.5.8", "0.6.1"]
REQUIREMENTS = [f"tinker-cookbook[math-rl,multiplayer-rl,inspect]=={RELEASES[0]}", "transformers==5.5.4", "gem-llm", "wandb", "peft"]

# Names under which the programs know the models that ship. A folder of that name below the work folder is where GEM's trainer finds the tokenizer.
MODELS = {
    "Qwen/Qwen3-4B-Instruct-2507": ROOT / "examples/tiny/guess/model",
    "tiny/guess": ROOT / "examples/tiny/guess/model",
    "tiny/lm": ROOT / "examples/tiny/model",
}

# Models that the recipes name and do not ask their user about (judges, answerers), and those whose renderer they guess by the name.
NAMED = ["Qwen/Qwen3.5-4B", "Qwen/Qwen3.5-9B", "Qwen/Qwen3.6-35B-A3B"]


class Failed(Exception):
    """What was checked is not so."""


class Runner:
    """The environment, the server, and what was checked."""

    def __init__(self, trinity, work, port, links):
        self.work, self.lines, self.release = work.resolve(), [], RELEASES[0]
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = self.environment()
        for name, folder in MODELS.items():
            link = self.work / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            if links:
                link.symlink_to(folder)
        data = self.work / "data"
        shutil.rmtree(data, ignore_errors=True)
        flags = [f for name, folder in MODELS.items() for f in ("--alias", f"{name}={folder.relative_to(ROOT / 'examples')}")]
        flags += [f for name in NAMED for f in ("--alias", f"{name}=long/model")]
        self.server = Server(trinity.resolve(), data, port, "--models", str(ROOT / "examples"), "--models", str(self.long_model()), *flags)
        self.env = self.server.env(WANDB_MODE="disabled", TINKER_TELEMETRY="0", PYTHONWARNINGS="ignore", PYTHONUNBUFFERED="1")
        shutil.rmtree(self.env["HF_HOME"], ignore_errors=True)
        self.server.start()

    def long_model(self):
        """The shipped model with a context that takes what an evaluation asks for by default. Its positions are rotations, so any length computes."""
        folder = self.work / "models" / "long" / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(MODELS["tiny/lm"], folder)
        config = json.loads((folder / "config.json").read_text())
        config["max_position_embeddings"] = 8192
        (folder / "config.json").write_text(json.dumps(config))
        return self.work / "models"

    def environment(self):
        home = self.work / "venv"
        python = home / "bin" / "python"
        if not python.exists():
            venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        for release in RELEASES[1:]:
            beside = self.work / f"cookbook-{release}"
            if not beside.exists():
                subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--target", beside, f"tinker-cookbook=={release}"], check=True)
        return python

    def use(self, release):
        """Programs that are started from now on import this release of tinker-cookbook."""
        self.release = release
        self.env.pop("PYTHONPATH", None)
        if release != RELEASES[0]:
            self.env["PYTHONPATH"] = str(self.work / f"cookbook-{release}")

    def say(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def versions(self, *names):
        code = "import importlib.metadata as m, sys; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
        return subprocess.run([self.python, "-c", code, *names], capture_output=True, text=True, check=True, env=self.env).stdout.strip()

    def start(self, name, *args, stdin=subprocess.DEVNULL):
        log = open(self.work / f"{name}.log", "wb")
        return subprocess.Popen([self.python, *args], cwd=self.work, env=self.env, stdin=stdin, stdout=log, stderr=subprocess.STDOUT)

    def run(self, name, *args, said=None):
        """Runs a Python program in the work folder to its end and returns what it printed. said is typed in."""
        p = self.start(name, *args, stdin=subprocess.PIPE if said else subprocess.DEVNULL)
        if said:
            p.stdin.write(said.encode())
            p.stdin.close()
        text = ""
        try:
            p.wait(timeout=1800)
        finally:
            p.kill()
            text = (self.work / f"{name}.log").read_text(errors="replace")
        if p.returncode:
            raise Failed(f"{name} ended with {p.returncode}:\n{text[-4000:]}")
        return text

    def resolve(self, file):
        """Loads every checkpoint that a checkpoints.jsonl names and samples from every sampler."""
        found = json.loads(self.run("resolve", str(HERE / "resolve.py"), str(file)).splitlines()[-1])
        check(found["lines"] > 0, f"{file} names no checkpoint")
        self.say(f"checkpoints.jsonl: {found['lines']} lines; {found['states']} states loaded with their optimizer, {found['samplers']} samplers sampled from")


def check(ok, what):
    if not ok:
        raise Failed(what)


def finite(step, *keys):
    """The named metrics, which must be there and be finite."""
    for key in keys:
        check(key in step and math.isfinite(step[key]), f"step {step.get('step')}: {key} is {step.get(key)}")
    return [step[key] for key in keys]


class Recipe:
    """A recipe of tinker-cookbook with its log folder."""

    def __init__(self, runner, name, module, *args):
        self.r, self.name, self.log = runner, name, runner.work / "logs" / f"{runner.release}-{name}"
        self.args = ["-m", f"tinker_cookbook.recipes.{module}", *args, f"log_path={self.log}"]
        self.shown = f"python -m tinker_cookbook.recipes.{module} {' '.join(args)}"

    def run(self, steps, resume=False):
        return self.r.run(self.name, *self.args, f"max_steps={steps}", f"behavior_if_log_dir_exists={'resume' if resume else 'delete'}")

    def run_until(self, steps, step):
        """Starts the recipe and kills it, and then the server, as soon as this step is on record. Returns the steps on record."""
        shutil.rmtree(self.log, ignore_errors=True)
        p, begin = self.r.start(self.name, *self.args, f"max_steps={steps}", "behavior_if_log_dir_exists=delete"), time.time()
        while not (self.log / "metrics.jsonl").exists() or step not in self.steps():
            check(p.poll() is None and time.time() - begin < 900, f"{self.name} ended before step {step}")
            time.sleep(0.02)
        p.send_signal(signal.SIGKILL)
        p.wait()
        self.r.server.stop(kill=True)
        self.r.server.start()
        return self.steps()

    def steps(self):
        """The training lines of metrics.jsonl; of a step that was done twice the last."""
        lines = [json.loads(x) for x in (self.log / "metrics.jsonl").read_text().splitlines(keepends=True) if x.endswith("\n")]
        return {m["step"]: m for m in lines if "env/all/reward/total" in m or "train_mean_nll" in m}


def losses(m):
    """One line of a training step, every number of it finite."""
    if "train_mean_nll" in m:
        nll, norm = finite(m, "train_mean_nll", "grad_norm")
        return f"train_mean_nll {nll:.6f}  grad_norm {norm:.4f}"
    reward, norm, v1, v2, entropy = finite(m, "env/all/reward/total", "grad_norm", "optim/kl_sample_train_v1", "optim/kl_sample_train_v2", "optim/entropy")
    return (f"reward/total {reward:.4f}  frac_mixed {m.get('env/all/by_group/frac_mixed', math.nan):.3f}  entropy {entropy:.4f}  grad_norm {norm:.3f}"
            f"  kl_sample_train_v1 {v1}  v2 {v2}" + (f"  kl_pre_post_v1 {m['kl_pre_post_v1']:.5f}" if "kl_pre_post_v1" in m else ""))


def shown(r, recipe, steps, on_policy=True):
    """Says and checks a recipe's steps, which must be exactly these."""
    found = recipe.steps()
    check(sorted(found) == list(range(steps)), f"{recipe.name}: steps {sorted(found)}, want {steps}")
    for i in range(steps):
        r.say(f"step {i}: {losses(found[i])}")
        if on_policy and "optim/kl_sample_train_v1" in found[i]:
            check(found[i]["optim/kl_sample_train_v1"] == 0 == found[i]["optim/kl_sample_train_v2"], f"{recipe.name}: step {i}: the trainer's logprobs are not the sampler's")
    r.resolve(recipe.log / "checkpoints.jsonl")
