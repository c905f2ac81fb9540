"""GEM's own loop, to compare with what the host plays: make, reset(seed), step until the end, in a process of its own.

    python loop.py EPISODES ROWS ID ... > episodes.jsonl

ROWS is a folder with math.jsonl, qa.jsonl and code.jsonl, for environments of these kinds. Actions are drawn by a generator of their own: for games mostly
well-formed moves, for tasks the right answer, a wrong one, one without a box, or nothing. One line is an episode:
{"env", "rows", "seed", "first", "steps": [{"action", "said", "reward", "terminated", "truncated"}]}, where first and said are
digests of observation, prefix and suffix, and rows is math, qa, code or nothing.
"""
import contextlib
import hashlib
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../rl/env/game/testdata"))

from moves import action as move  # noqa: E402


def digest(text, info):
    parts = [text, info.get("prefix") or "", info.get("suffix") or ""]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def answer(e, rows, logic, r):
    """An answer to a task of one turn. logic:* want it in a box."""
    if rows == "code":
        return r.choice([
            "```python\na, b = map(int, input().split())\nprint(a + b)\n```", "```python\nprint(1)\n```",
            "```python\nprint(\n```", "no code"])
    gold = e.answer if rows else e.data["answer"]
    gold = gold[0] if isinstance(gold, list) else gold
    wrong = r.choice(["42", "0", "no", str(gold)[:3], f" {gold} "])
    said = r.choice([gold, gold, wrong])
    if rows == "qa":
        tagged, boxed = f"<think>so</think> <answer>{said}</answer>", f"\\boxed{{{said}}}"
        return r.choice([boxed] * 4 + [tagged] if logic else [tagged] * 4 + [boxed])
    return r.choice([f"It is \\boxed{{{said}}}."] * 5 + [str(said), ""])


def rows_of(gem, env_id):
    """Which rows an environment takes, by its class."""
    place = str(gem.envs.registration.ENV_REGISTRY[env_id].entry_point)
    return next((rows for rows in ("math", "qa", "code") if f".{rows}_env:" in place), "")


def play(gem, env_id, kwargs, episodes, rows):
    with contextlib.redirect_stdout(sys.stderr):
        e = gem.make(env_id, **kwargs)
    group, name = env_id.split(":")
    name = name.split("-")[0]
    for seed in range(episodes):
        first = digest(*e.reset(seed=seed))
        out = {"env": env_id, "rows": rows, "seed": seed, "first": first, "steps": []}
        r, done = random.Random(f"{env_id} {seed}"), False
        while not done:
            a = move(e, name, r) if group == "game" else answer(e, rows, group == "logic", r)
            try:
                obs, reward, te, tr, info = e.step(a)
            except Exception as error:  # some environments raise for some answers: the host must fail then, too
                out["steps"].append({"action": a, "raises": type(error).__name__})
                break
            out["steps"].append({"action": a, "said": digest(obs, info), "reward": float(reward), "terminated": bool(te),
                                 "truncated": bool(tr)})
            done = te or tr
        yield out


def main():
    episodes, rows, ids = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what GEM prints
    import gem
    import gem.envs
    import patient  # noqa: F401

    if ids == ["rg"]:
        ids = [i for i in gem.envs.registration.ENV_REGISTRY if i.startswith("rg:")]
    for env_id in ids:
        kwargs, kind = {}, rows_of(gem, env_id)
        if kind:
            from datasets import Dataset

            with open(f"{rows}/{kind}.jsonl") as f:
                kwargs["dataset"] = Dataset.from_list([json.loads(line) for line in f])
        begin = time.time()
        try:
            for episode in play(gem, env_id, kwargs, episodes, kind):
                print(json.dumps(episode), file=out, flush=True)
        except Exception as error:
            print(json.dumps({"env": env_id, "unplayable": f"{type(error).__name__}: {error}"}), file=out, flush=True)
        print(f"{env_id}: {time.time() - begin:.1f} s", file=sys.stderr)
    os._exit(0)  # GEM's worker processes do not end by themselves


main()
