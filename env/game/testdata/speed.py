"""Times GEM on recorded episodes: python speed.py traces.jsonl. Prints, per id, nanoseconds of
processor time per step and per reset."""
import collections
import contextlib
import io
import json
import sys
import time

name = sys.argv[1]
sys.argv[1] = "0"
from traces import gem  # noqa: E402  (plays no episode for 0 seeds)

episodes = collections.defaultdict(list)
with open(name) as f:
    for line in f:
        t = json.loads(line)
        episodes[t["env"]].append((t["seed"], [s["a"] for s in t["steps"]]))
for env_id, list_ in episodes.items():
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            e = gem.make(env_id)
    except Exception as error:  # two ids cannot be made
        print(env_id, "fails:", error, file=sys.stderr)
        continue
    steps = stepping = resetting = 0
    resets = 0
    seeds = list_ + [(s, None) for s in range(16)] if "Sokoban" in env_id else list_
    while stepping + resetting < 1e9 and resets < 400:
        for seed, actions in seeds:
            start = time.process_time_ns()
            e.reset(seed=seed)
            middle = time.process_time_ns()
            for a in actions or []:
                *_, te, tr, _ = e.step(a)
                steps += 1
                if te or tr:
                    break
            stepping += time.process_time_ns() - middle
            resetting += middle - start
            resets += 1
    print(json.dumps({"env": env_id, "ns_step": stepping / steps, "ns_reset": resetting / resets}), flush=True)
