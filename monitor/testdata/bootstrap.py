"""Makes bootstrap.json: best@k and worst@k with numpy's own generator (python3 bootstrap.py > bootstrap.json)."""
import json

import numpy as np


def bootstrap(values, k):
    np.random.seed(42)
    best, worst = [], []
    for _ in range(1000):
        drawn = np.asarray(values)[np.random.choice(len(values), size=k, replace=True)]
        best.append(drawn.max())
        worst.append(drawn.min())
    return float(np.mean(best)), float(np.mean(worst))


cases = []
for values in ([1.0, 0.0], [0.9, -0.1, 0.1], [1.1, 0.9, -0.1, 0.1, 1.0, 0.0, 0.5, 0.25], [float(i * i % 17) for i in range(13)]):
    k, want = 2, {}
    while k < len(values):
        want[f"best@{k}"], want[f"worst@{k}"] = bootstrap(values, k)
        k *= 2
    n = len(values)
    want[f"best@{n}"], want[f"worst@{n}"] = bootstrap(values, n)
    want[f"mean@{n}"], want[f"std@{n}"] = float(np.mean(values)), float(np.std(values))
    cases.append({"values": values, "want": want})
print(json.dumps(cases, indent=1))
