"""Times GEM on recorded episodes beside the Go benchmarks: python speed.py traces.jsonl go.txt

go.txt is what `go test -bench 'Step|Reset' -count 5` printed. Both sides count processor time and both are given the best of five rounds,
since a busy machine slows single ones. Prints nanoseconds per step and per reset.
"""
import collections
import contextlib
import io
import json
import math
import os
import re
import statistics
import sys
import time

traces, go_output = sys.argv[1:3]
sys.argv[1:] = ["0"]
from traces import gem  # noqa: E402  (plays no episode for 0 seeds)

go = collections.defaultdict(dict)
with open(go_output) as f:
    for line in f:
        m = re.match(r"Benchmark(Step|Reset)/(\S+?)-\d+\s.*?([\d.]+) ns/(step|reset)", line)
        if m:
            go[m[2]][m[4]] = min(float(m[3]), go[m[2]].get(m[4], math.inf))

episodes = collections.defaultdict(list)
with open(traces) as f:
    for line in f:
        t = json.loads(line)
        episodes[t["env"]].append((t["seed"], [s["a"] for s in t["steps"]]))


def measure(e, played):
    """One round: nanoseconds per step and per reset. The benchmark resets seeds 0 to 15; the steps are those of the recording."""
    steps = stepping = resetting = resets = 0
    while stepping + resetting < 2e8 and resets < 400:
        for seed, actions in played + [(s, []) for s in range(16)]:
            if resets >= len(played) and resetting > 2e10:
                break
            start = time.process_time_ns()
            e.reset(seed=seed)
            middle = time.process_time_ns()
            for a in actions:
                *_, te, tr, _ = e.step(a)
                steps += 1
                if te or tr:
                    break
            stepping += time.process_time_ns() - middle if actions else 0
            resetting += middle - start
            resets += 1
    return stepping / steps, resetting / resets, resetting


print(f"{'game':30s} {'step: GEM':>12s} {'trinity':>9s} {'ratio':>7s} {'reset: GEM':>14s} {'trinity':>10s} {'ratio':>7s}")
ratios = []
for env_id, played in episodes.items():
    with contextlib.redirect_stdout(io.StringIO()):
        e = gem.make(env_id)
    rounds = []
    while len(rounds) < 5 and sum(r[2] for r in rounds) < 5e9:
        rounds.append(measure(e, played))
    a, b, ours = min(r[0] for r in rounds), min(r[1] for r in rounds), go[env_id]
    ratios.append(a / ours["step"])
    print(f"{env_id:30s} {a:12.0f} {ours['step']:9.0f} {ratios[-1]:7.1f} {b:14.0f} {ours['reset']:10.0f} {b / ours['reset']:7.1f}", flush=True)
print(f"steps: at least {min(ratios):.1f} times as many in the same time, at the median {statistics.median(ratios):.1f}")
