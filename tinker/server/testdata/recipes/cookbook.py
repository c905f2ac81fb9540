"""Recipes of tinker-cookbook, unmodified, against `trinity serve`: each release in turn, and a table of what works."""

import json
import math
import random
import re
import shutil
import signal
import subprocess

from runner import HERE, RELEASES, ROOT, Failed, Recipe, check, finite, losses, shown


def sums(file, rows=4096):
    """Conversations of the arithmetic recipe, its example in front, with worked answers, as a local file for chat_sl."""
    draw = random.Random(1)
    with open(file, "w") as out:
        for _ in range(rows):
            x, y = draw.randrange(101), draw.randrange(101)
            turns = ["What is 4 + 5?", "9", f"What is {x} + {y}?", f"<think>{x}+{y}={x + y}</think><answer>{x + y}</answer>"]
            out.write(json.dumps({"messages": [{"role": "user" if i % 2 == 0 else "assistant", "content": t} for i, t in enumerate(turns)]}) + "\n")


def cookbook(r, only=""):
    """Every recipe on every release. One that fails is said and the others go on; then the whole fails."""
    table, parts = {}, {"math_rl (arithmetic, its modes)": arithmetic, "math_rl (arithmetic, async, in-flight)": inflight, "rl_loop": rl_loop, **small(), "decisions": decisions, "inspect evaluation": inspect,
                        "weights: download, peft, merge": adapter, "chat_sl": chat_sl, "guess_number": guess_number, "rl_numerics_check": numerics}
    parts = {name: part for name, part in parts.items() if not only or only in name}
    data_sets(r)
    for release in RELEASES:
        r.use(release)
        r.say(f"\n# tinker-cookbook, unmodified: {r.versions('tinker', 'tinker-cookbook', 'tml-renderers', 'torch', 'transformers', 'peft')}")
        for name, part in parts.items():
            try:
                table[name, release] = part(r) or "works"
            except Failed as e:
                r.say(f"FAILED: {e}")
                table[name, release] = "FAILED"
    r.say("\n| recipe | " + " | ".join(RELEASES) + " |\n" + "|---" * (len(RELEASES) + 1) + "|")
    for name in parts:
        r.say(f"| {name} | " + " | ".join(table[name, release] for release in RELEASES) + " |")
    check("FAILED" not in table.values(), "not every recipe works")


def inflight(r, steps=6):
    """The asynchronous recipe as the hosted service's documentation teaches it: stable_reinforce, its loss by default, and samplers that take each step's weights."""
    if r.release == RELEASES[0]:
        return "-"
    state = metrics_of(r.work / "logs" / f"{r.release}-sums" / "checkpoints.jsonl")[-1]["state_path"]
    c = Recipe(r, "inflight", "math_rl.train", "model_name=tiny/lm", "renderer_name=qwen3_instruct", "eval_every=0", "save_every=0", "env=arithmetic", "groups_per_batch=16", "group_size=8",
               "max_tokens=40", "learning_rate=1e-4", f"load_checkpoint_path={state}", "max_steps_off_policy=2")
    c.args[:1] = [str(HERE / "inflight.py")]
    r.say(f"\n## {c.shown}, its samplers of kind inflight: {steps} steps, loss stable_reinforce")
    c.run(steps)
    check(json.loads((c.log / "config.json").read_text())["async_config"]["loss_fn"] == "stable_reinforce", "inflight: another loss")
    shown(r, c, steps, on_policy=False)
    check(all(m["grad_norm"] > 0 for m in c.steps().values()), "inflight: a step without a gradient")


def guess_number(r):
    g = Recipe(r, "guess_number", "multiplayer_rl.guess_number.train", "model_name=tiny/guess", "renderer_name=qwen3_instruct", "batch_size=8", "group_size=4", "max_tokens=16",
               "learning_rate=1e-3", "eval_every=0")
    r.say(f"\n## {g.shown}: 2 steps, then resumed for 1 more (the model has not learned the form \"Guess: N\": each turn that lacks it costs 1)")
    g.run(2)
    g.run(3, resume=True)
    shown(r, g, 3)


def numerics(r, steps=3):
    """The cookbook's own check of sampler against trainer, whose gap is 0 here. Its words are drawn at random, as WikiText-103 is not at hand."""
    if r.release == RELEASES[0]:
        return "-"
    c = Recipe(r, "rl_numerics_check", "rl_numerics_check.train", "model_name=Qwen/Qwen3.5-4B", "renderer_name=qwen3_5_disable_thinking", "group_size=4", "groups_per_batch=4",
               "max_tokens=384", "max_trajectory_tokens=8192", "task.num_pages_min=2", "task.num_pages_max=3", "task.page_chars=400", "learning_rate=1e-3")
    r.say(f"\n## {c.shown}: {steps} steps")
    c.run(steps)
    found = c.steps()
    check(sorted(found) == list(range(steps)), f"rl_numerics_check: steps {sorted(found)}, want {steps}")
    for i, m in found.items():
        v1, v2, reward, norm, turns, seen, drawn = finite(m, "optim/kl_sample_train_v1", "optim/kl_sample_train_v2", "env/all/reward/total", "grad_norm", "env/all/turns_per_episode",
                                                          "env/all/ob_tokens_per_turn", "env/all/ac_tokens_per_turn")
        r.say(f"step {i}: kl_sample_train_v1 {v1}  v2 {v2}  reward/total {reward:.4f}  grad_norm {norm:.4f}  turns {turns:.2f}  tokens read per turn {seen:.0f}, written {drawn:.1f}")
        check(v1 == 0 == v2, f"rl_numerics_check: step {i}: the trainer's logprobs are not the sampler's")
    r.say("the gap that the recipe's README publishes for the hosted service: v1 about 0.0002 (Qwen3.6-27B), 0.001 to 0.002 (Qwen3.6-35B-A3B)")


def data_set(r, name, config="main", **splits):
    """Rows as a folder that the datasets package loads by the data set's name."""
    folder = r.work / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["---", "configs:", f"- config_name: {config}", "  default: true", "  data_files:"]
    for split, rows in splits.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines += [f"  - split: {split}", f"    path: {split}.jsonl"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def data_sets(r):
    """What the recipes would fetch from the hub, as generated sums in the same columns."""
    draw = random.Random(2)
    pairs = [(draw.randrange(100), draw.randrange(100)) for _ in range(512)]
    sums_of = [{"question": f"What is {x} + {y}?", "answer": f"{x}+{y}={x + y}\n#### {x + y}", "final_answer": str(x + y)} for x, y in pairs]
    data_set(r, "openai/gsm8k", train=sums_of, test=sums_of[:32])
    data_set(r, "zwhe99/DeepMath-103K", train=sums_of)
    words = "after before between both could during into known later many most only over such their then time under until when while the of and was in a to".split()
    data_set(r, "Salesforce/wikitext", "wikitext-103-raw-v1", train=[{"text": " ".join(draw.choices(words, k=60))} for _ in range(500)])
    human = [{"chosen": f"\n\nHuman: {q['question']}\n\nAssistant: {q['final_answer']}", "rejected": f"\n\nHuman: {q['question']}\n\nAssistant: I cannot say"} for q in sums_of]
    data_set(r, "Anthropic/hh-rlhf", train=human, test=human[:32])
    rows = [{"convo": [{"role": "user", "content": q["question"]}], "rubric_items": [
        {"rubric_str": f"Is the answer {q['final_answer']}?", "extraction_regex": "<score>(.*?)</score>", "grader_output_format_instruction": "Answer <score>1</score> or <score>0</score>."}]}
        for q in sums_of]
    (r.work / "rubric.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def rl_loop(r):
    """The minimal loop, with the loss that it has by default: importance_sampling, or stable_reinforce in newer releases."""
    log = r.work / "logs" / f"{r.release}-rl_loop"
    args = ["model_name=Qwen/Qwen3.5-4B", "batch_size=8", "group_size=4", "max_tokens=16"]
    r.say(f"\n## python -m tinker_cookbook.recipes.rl_loop {' '.join(args)}: 3 steps on generated rows of gsm8k")
    shutil.rmtree(log, ignore_errors=True)
    r.run("rl_loop", "-m", "tinker_cookbook.recipes.rl_loop", *args, "max_steps=3", f"log_path={log}")
    lines = [m for m in metrics(log) if "reward/total" in m]
    check(len(lines) == 3, f"rl_loop: {len(lines)} steps, want 3")
    for i, m in enumerate(lines):
        r.say(f"step {i}: reward/total {finite(m, 'reward/total')[0]:.4f}")


def metrics(log):
    return metrics_of(log / "metrics.jsonl")


def metrics_of(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def small():
    """Recipes of which two steps are shown: by name the module, its arguments, and the metrics that must be there and finite."""
    lm = ["model_name=Qwen/Qwen3.5-4B", "renderer_name=qwen3_5_disable_thinking"]
    rl = ["env/all/reward/total", "optim/entropy", "grad_norm"]
    recipes = {
        "math_rl (gsm8k)": ("math_rl.train", [*lm, "env=gsm8k", "groups_per_batch=8", "group_size=4", "max_tokens=16", "eval_every=0"], rl),
        "math_rl (gsm8k, async)": ("math_rl.train", [*lm, "env=gsm8k", "groups_per_batch=8", "group_size=4", "max_tokens=16", "eval_every=0", "max_steps_off_policy=1"], rl),
        "dpo": ("preference.dpo.train", [*lm, "batch_size=16", "max_length=256"], ["dpo_loss", "accuracy", "margin"]),
        "twenty_questions": ("multiplayer_rl.twenty_questions.train", [*lm, "batch_size=4", "group_size=2", "max_tokens=8", "eval_every=0"], rl),
        "text_arena": ("multiplayer_rl.text_arena.train", [*lm, "batch_size=4", "num_train_datapoints=16", "num_test_datapoints=2", "max_tokens=8", "eval_every=0"], rl),
        "rubric": ("rubric.train", [*lm, "grader_llm_name=Qwen/Qwen3.6-35B-A3B", "train_group_size=4", "groups_per_batch=4", "max_tokens=16", "eval_every=0",
                                    "train_jsonl_path=rubric.jsonl", "test_jsonl_path=rubric.jsonl"], rl),
    }
    parts = {name: lambda r, name=name, what=what: two_steps(r, name, *what) for name, what in recipes.items()}
    return {"distillation": distillation, **parts}


def distillation(r):
    """The base model learns from itself after the sums of the arithmetic recipe."""
    teacher = metrics_of(r.work / "logs" / f"{r.release}-sums" / "checkpoints.jsonl")[-1]["sampler_path"]
    two_steps(r, "distillation", "distillation.on_policy_distillation", ["model_name=tiny/lm", "renderer_name=qwen3_instruct", "teacher_model=tiny/lm", f"teacher_checkpoint={teacher}",
              "groups_per_batch=8", "group_size=2", "max_tokens=16", "lora_rank=8", "eval_every=0"], ["teacher_kl", "grad_norm"])


def two_steps(r, name, module, args, keys):
    c = Recipe(r, "".join(x if x.isalnum() else "_" for x in name), module, *args)
    r.say(f"\n## {c.shown}: 2 steps")
    c.run(2)
    lines = [m for m in metrics(c.log) if keys[0] in m]
    check(len(lines) == 2, f"{name}: {len(lines)} steps with {keys[0]}, want 2; there is {[sorted(m) for m in metrics(c.log)][:1]}")
    for i, m in enumerate(lines):
        r.say(f"step {i}: " + "  ".join(f"{key} {value:.4f}" for key, value in zip(keys, finite(m, *keys))))


def decisions(r):
    """A question and the probability of each team: logprobs of chosen tokens at a position of the prompt (target_prompt_logprobs)."""
    r.say("\n## python -m tinker_cookbook.recipes.decisions.demo model_name=Qwen/Qwen3.5-4B, asked one question")
    text = r.run("decisions", "-m", "tinker_cookbook.recipes.decisions.demo", "model_name=Qwen/Qwen3.5-4B", said="How do I pick a learning rate?\n")
    found = json.loads(text[text.index("{"):text.rindex("}") + 1])
    check(len(found) == 4 and abs(sum(found.values()) - 1) < 0.01, f"decisions: {found}")
    r.say(f"{found}")


def inspect(r):
    """An evaluation by inspect-ai with a judge, both sampled from the server."""
    task = "tinker_cookbook.eval.custom_inspect_task:example_lm_as_judge"
    args = ["model_name=Qwen/Qwen3.5-4B", "renderer_name=qwen3_5_disable_thinking", f"tasks={task}", "max_tokens=16", f"log_dir={r.work}/logs/{r.release}-inspect"]
    r.say(f"\n## python -m tinker_cookbook.eval.run_inspect_evals {' '.join(args[:-1])}")
    text = r.run("inspect", "-m", "tinker_cookbook.eval.run_inspect_evals", *args)
    found = re.search(r"Evaluation completed\. Metrics: (\{.*?\})", text, re.S | re.I)
    check(found is not None and "accuracy" in found[1], f"inspect: {text[-1500:]}")
    r.say(" ".join(found[0].split()))


def adapter(r):
    r.say("\n## weights.download of an export and of a state, peft, weights.build_hf_model by shards and whole; the shipped model is tied, and its head was trained too")
    for line in r.run("adapter", str(HERE / "adapter.py"), str(ROOT / "examples/tiny/model"), str(r.work / "adapter")).splitlines():
        if line.startswith("> "):
            r.say(line[2:])


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
