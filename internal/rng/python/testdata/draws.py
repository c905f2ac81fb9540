"""Writes draws.json: what CPython's random and NumPy's default_rng draw. Run: python draws.py > draws.json"""
import json
import random

import numpy

out = []
for seed in (0, 1, 42, 10007, 2**32 - 1, 2**32, 2**64 - 1):
    r = random.Random(seed)
    g = numpy.random.default_rng(seed)
    out.append({
        "seed": str(seed),
        "bits": [r.getrandbits(32) for _ in range(700)][-3:],
        "randint": [r.randint(a, b) for a, b in [(2, 2), (1, 10), (1, 50), (-5, 5), (0, 2**31)]],
        "random": [r.random() for _ in range(3)],
        "shuffle": (lambda x: r.shuffle(x) or x)(list(range(30))),
        "samples": [{"n": n, "k": k, "got": r.sample(range(n), k)} for n, k in [(8, 4), (21, 5), (22, 5), (100, 6), (850, 5), (60, 60)]],
        "choices": r.choices(range(7), k=9),
        "after": r.random(),
        "integers": [int(g.integers(n)) for n in [1, 2, 3, 36, 1000, 2**31, 5]],
        "permutation": g.permutation(40).tolist(),
        "large": g.permutation(5000).tolist()[:5],
    })
print(json.dumps(out))
