# Writes choice.json: python3 choice.py > choice.json
import json
import numpy as np

out = []
for seed in (0, 42, 43, 7):
    for n, k in ((5, 1), (5, 2), (7, 2), (7, 7), (100, 10), (1, 1), (20000, 401)):
        got = np.random.default_rng(seed).choice(n, k, replace=False).tolist()
        out.append({"seed": seed, "n": n, "k": k, "got": got})
legacy = [int(x) for x in np.random.RandomState(42).randint(0, 2**32, 5, dtype=np.uint32)]
print(json.dumps({"choice": out, "legacy": legacy}))
