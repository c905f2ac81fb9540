"""Runs training programs that others wrote, unmodified, against `trinity serve`, and checks what they report.

    run.py gem|cookbook --trinity bin/trinity --work DIR [--out LOG]

gem: tinker_train_gem.py beside this file, with the real gem-llm. cookbook: recipes of tinker-cookbook. Both with the newest SDK that pip
resolves, in a virtual environment that is made below DIR the first time and kept, and the models that ship. The server's data are new each time.
"""

import argparse
import json
import math
import pathlib
import random
import re
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

REQUIREMENTS = ["tinker-cookbook[math-rl]", "gem-llm", "wandb"]

# Names under which the programs know the models that ship. A folder of that name below the work folder is where they find the tokenizer.
MODELS = {
    "Qwen/Qwen3-4B-Instruct-2507": ROOT / "examples/tiny/guess/model",
    "tiny/guess": ROOT / "examples/tiny/guess/model",
    "tiny/lm": ROOT / "examples/tiny/model",
}


class Runner:
    """The environment, the server, and what was checked."""

    def __init__(self, trinity, work, port):
        self.work, self.lines = work.resolve(), []
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = self.environment()
        for name, folder in MODELS.items():
            link = self.work / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(folder)
        data = self.work / "data"
        shutil.rmtree(data, ignore_errors=True)
        flags = [f for name, folder in MODELS.items() for f in ("--alias", f"{name}={folder.relative_to(ROOT / 'examples')}")]
        self.server = Server(trinity.resolve(), data, port, "--models", str(ROOT / "examples"), *flags)
        self.env = self.server.env(WANDB_MODE="disabled", TINKER_TELEMETRY="0", PYTHONWARNINGS="ignore", PYTHONUNBUFFERED="1")
        self.server.start()

    def environment(self):
        home = self.work / "venv"
        python = home / "bin" / "python"
        if not python.exists():
            venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        return python

    def say(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def versions(self, *names):
        code = "import importlib.metadata as m, sys; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
        return subprocess.run([self.python, "-c", code, *names], capture_output=True, text=True, check=True).stdout.strip()

    def start(self, name, *args):
        log = open(self.work / f"{name}.log", "wb")
        return subprocess.Popen([self.python, *args], cwd=self.work, env=self.env, stdout=log, stderr=subprocess.STDOUT)

    def run(self, name, *args):
        """Runs a Python program in the work folder to its end and returns what it printed."""
        p = self.start(name, *args)
        text = ""
        try:
            p.wait(timeout=1800)
        finally:
            p.kill()
            text = (self.work / f"{name}.log").read_text(errors="replace")
        if p.returncode:
            sys.exit(f"{name} ended with {p.returncode}:\n{text[-4000:]}")
        return text

    def resolve(self, file):
        """Loads every checkpoint that a checkpoints.jsonl names and samples from every sampler."""
        found = json.loads(self.run("resolve", str(HERE / "resolve.py"), str(file)).splitlines()[-1])
        check(found["lines"] > 0, f"{file} names no checkpoint")
        self.say(f"checkpoints.jsonl: {found['lines']} lines; {found['states']} states loaded with their optimizer, {found['samplers']} samplers sampled from")


def check(ok, what):
    if not ok:
        sys.exit("FAILED: " + what)


def finite(step, *keys):
    """The named metrics, which must be there and be finite."""
    for key in keys:
        check(key in step and math.isfinite(step[key]), f"step {step.get('step')}: {key} is {step.get(key)}")
    return [step[key] for key in keys]


def gem(r, steps=7):
    r.say(f"# GEM's trainer over Tinker, unmodified: {r.versions('tinker', 'gem-llm', 'torch', 'transformers')}")
    args = [f"max_steps={steps}", "learning_rate=1e-3"]
    r.say(f"tinker_train_gem.py {' '.join(args)}   (all else, game:GuessTheNumber-v0-easy too, is its default)")
    out = r.work / "tinker_output"
    shutil.rmtree(out, ignore_errors=True)
    text = r.run("gem", str(HERE / "tinker_train_gem.py"), *args)
    blocks = re.findall(r"^\{'sampler/.*?\}$", text, re.S | re.M)
    check(len(blocks) == steps, f"{len(blocks)} blocks of metrics, want {steps}")
    for i, block in enumerate(blocks):
        m = {k: float(v) for k, v in re.findall(r"'([^']+)': (?:np\.float64\()?([-+.\w]+)", block)}
        loss, reward, turns, entropy, v1, v2 = finite(m, "train/loss:sum", "sampler/episode_return", "sampler/num_turns_per_episode", "sampler/token_entropy",
                                                      "train/kl_sample_train_v1", "train/kl_sample_train_v2")
        check(m["step"] == i, f"step {m['step']} where {i} should be")
        check(v1 == 0 and v2 == 0, f"step {i}: the trainer's logprobs are not the sampler's: {v1}, {v2}")
        r.say(f"step {i}: episode_return {reward:.3f}  turns {turns:.2f}  token_entropy {entropy:.3f}  loss:sum {loss:9.3f}  kl_sample_train_v1 {v1}  v2 {v2}"
              f"  sample {m['time/sample']:.1f} s  train {m['time/train']:.1f} s")
    check(float(re.findall(r"'sampler/episode_return': (?:np\.float64\()?([-+.\w]+)", blocks[-1])[0]) > 0, "no reward in the last step")
    r.resolve(next(out.glob("*/checkpoints.jsonl")))


class Recipe:
    """A recipe of tinker-cookbook with its log folder."""

    def __init__(self, runner, name, module, *args):
        self.r, self.name, self.log = runner, name, runner.work / "logs" / name
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


def sums(file, rows=4096):
    """Conversations of the arithmetic recipe, its example in front, with worked answers, as a local file for chat_sl."""
    draw = random.Random(1)
    with open(file, "w") as out:
        for _ in range(rows):
            x, y = draw.randrange(101), draw.randrange(101)
            turns = ["What is 4 + 5?", "9", f"What is {x} + {y}?", f"<think>{x}+{y}={x + y}</think><answer>{x + y}</answer>"]
            out.write(json.dumps({"messages": [{"role": "user" if i % 2 == 0 else "assistant", "content": t} for i, t in enumerate(turns)]}) + "\n")


def cookbook(r):
    r.say(f"# tinker-cookbook, unmodified: {r.versions('tinker', 'tinker-cookbook', 'tml-renderers', 'torch', 'transformers')}")
    chat_sl(r)
    arithmetic(r)
    g = Recipe(r, "guess_number", "multiplayer_rl.guess_number.train", "model_name=tiny/guess", "renderer_name=qwen3_instruct", "batch_size=8", "group_size=4", "max_tokens=16",
               "learning_rate=1e-3", "eval_every=0")
    r.say(f"\n## {g.shown}: 2 steps, then resumed for 1 more (the model has not learned the form \"Guess: N\": each turn that lacks it costs 1)")
    g.run(2)
    g.run(3, resume=True)
    shown(r, g, 3)


def arithmetic(r):
    """The model is shown sums first, by chat_sl; the recipe of sums goes on from there, in each of its modes."""
    sums(r.work / "sums.jsonl")
    common = ["model_name=tiny/lm", "renderer_name=qwen3_instruct", "eval_every=0"]
    w = Recipe(r, "sums", "chat_sl.train", *common, "dataset=sums.jsonl", "train_on_what=last_assistant_message", "max_length=256", "batch_size=64", "num_epochs=3", "learning_rate=2e-3")
    r.say(f"\n## {w.shown}: 192 steps on generated sums")
    w.run(192)
    for i in range(0, 192, 19):
        r.say(f"step {i}: {losses(w.steps()[i])}")
    state = json.loads((w.log / "checkpoints.jsonl").read_text().splitlines()[-1])["state_path"]
    common += ["env=arithmetic", "groups_per_batch=16", "group_size=8", "max_tokens=40", "learning_rate=1e-4"]
    a = Recipe(r, "arithmetic", "math_rl.train", *common, f"load_checkpoint_path={state}", "save_every=2")
    r.say(f"\n## {a.shown}: 6 steps, then resumed for 2 more")
    a.run(6)
    first = a.steps()
    a.run(8, resume=True)
    check({i: a.steps()[i] for i in first} == first, "the resumed run wrote over earlier steps")
    shown(r, a, 8)
    rewards = [m["env/all/reward/total"] for m in a.steps().values()]
    check(sum(rewards) / len(rewards) > 0.1 and len(set(rewards)) > 1, f"rewards {rewards}: the sums that were shown are not known")
    for name, extra, on_policy in [("ppo", ["loss_fn=ppo"], True), ("cispo", ["loss_fn=cispo"], True), ("post-kl", ["compute_post_kl=True"], True), ("substeps", ["num_substeps=2"], False),
                                   ("stream", ["stream_minibatch_config.groups_per_batch=16", "stream_minibatch_config.num_minibatches=2"], True), ("async", ["max_steps_off_policy=2"], False)]:
        v = Recipe(r, name, "math_rl.train", *common, f"load_checkpoint_path={state}", *extra)
        r.say(f"\n## the same with {' '.join(extra)}: 2 steps")
        v.run(2)
        shown(r, v, 2, on_policy)


def chat_sl(r):
    """Supervised: the loss falls; after kill -9 of recipe and server in the middle it goes on, and goes on to the same bits when that is done again.

    The recipe sends a step before it saves the state that is named after the number of steps before it, so it trains on one batch twice when it is
    resumed: what follows the kill cannot be compared with what was before it, but one resumed run with another."""
    folder = subprocess.run([r.python, "-c", "import tinker_cookbook as t; print(t.__path__[0])"], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copy(f"{folder}/example_data/conversations.jsonl", r.work)
    c = Recipe(r, "chat_sl", "chat_sl.train", "model_name=tiny/lm", "renderer_name=qwen3_instruct", "dataset=conversations.jsonl", "max_length=256", "batch_size=16", "num_epochs=2",
               "learning_rate=1e-3", "lr_schedule=constant", "save_every=6")
    r.say(f"\n## {c.shown}: 12 steps on the file that the package ships; recipe and server killed (-9) after step 8, both started again, resumed from 000006")
    before, kept = c.run_until(12, 8), r.work / "logs" / "chat_sl-killed"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(c.log, kept)
    c.run(12, resume=True)
    shown(r, c, 12)
    first = c.steps()
    check({i: first[i] for i in range(6)} == {i: before[i] for i in range(6)}, "the resumed run wrote over earlier steps")
    check(first[11]["train_mean_nll"] < first[0]["train_mean_nll"] * 0.75, "the loss does not fall")
    shutil.rmtree(c.log)
    shutil.copytree(kept, c.log)
    r.server.stop(kill=True)
    r.server.start()
    c.run(12, resume=True)
    again, keys = c.steps(), ("train_mean_nll", "grad_norm", "num_tokens")
    for i in range(6, 12):
        check(all(first[i][k] == again[i][k] for k in keys), f"step {i} was {losses(first[i])} and is {losses(again[i])} when resumed again")
    r.say(f"the server killed (-9) once more and the recipe resumed from 000006 again: {', '.join(keys)} of steps 6 to 11 are the same, bit for bit")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("what", choices=["gem", "cookbook"])
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--port", type=int, default=8139)
    a = a.parse_args()
    r = Runner(a.trinity, a.work, a.port)
    try:
        {"gem": gem, "cookbook": cookbook}[a.what](r)
        r.say("\nall as it should be")
    finally:
        r.server.stop()
        if a.out:
            a.out.write_text("\n".join(r.lines) + "\n")


if __name__ == "__main__":
    main()
