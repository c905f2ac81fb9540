"""Writes losses.json: values and gradients of gspo and stable_reinforce, computed from their published formulas in float64.

The gradient is a complex-step derivative of the loss in which what the formula holds constant (stopgrad) is a number, so no derivative
is worked out by hand. Needs numpy: python3 losses.py > losses.json
"""

import json

import numpy as np


def gspo(p, q, a, mask, low=1 - 3e-4, high=1 + 4e-4):
    """GSPO-token, arXiv:2507.18071, section 4.3: s = sg[s_seq] * p / sg[p]."""
    seq = np.exp(np.mean((p.real - q)[mask != 0]))
    s = seq * np.exp(p - p.real)
    clipped = np.where(s.real < low, low, np.where(s.real > high, high, s))
    x, y = s * a, clipped * a
    return -np.sum(np.where(y.real < x.real, y, x))


def stable_reinforce(p, q, a, sampled, kl_coeff=0.01, cap=2.0):
    """Truncated importance weights (IMPALA) with k3 of KL(sampler || policy), continued by its tangent in log r above the cap."""
    gap = p - q
    r = np.exp(gap)
    weight = np.minimum(r.real, cap)
    kl = np.where(r.real <= cap, r - 1 - gap, (cap - 1 - np.log(cap)) + (cap - 1) * (gap - np.log(cap)))
    return np.sum((sampled != 0) * (-weight * p * a + kl_coeff * kl))


def case(rng, name, loss, gap, **config):
    n = 12
    p = -np.exp(rng.normal(0, 1, n)).astype(np.float32).astype(float)
    q = (p + rng.normal(0, gap, n)).astype(np.float32).astype(float)
    a = rng.normal(0, 1, n).astype(np.float32).astype(float)
    mask = np.array([0] * 3 + [1] * 9)
    if loss is stable_reinforce:
        a[:3] = 0
    a[5] = 0
    grad = [loss(p + 1j * 1e-30 * np.eye(n)[i], q, a, mask, **config).imag / 1e-30 for i in range(n)]
    keys = {"low": "clip_low_threshold", "high": "clip_high_threshold"}
    return {
        "name": name,
        "config": {keys.get(k, k): v for k, v in config.items()},
        "logp": list(p), "q": list(q), "advantages": list(a), "mask": [float(m) for m in mask],
        "loss": float(loss(p + 0j, q, a, mask, **config).real), "grad": grad,
    }


rng = np.random.default_rng(20)
cases = [case(rng, "gspo", gspo, gap) for gap in (1e-5, 1e-3, 0.3)]
cases += [case(rng, "gspo", gspo, gap, low=0.8, high=1.3) for gap in (0.1, 1.0)]
cases += [case(rng, "stable_reinforce", stable_reinforce, gap) for gap in (0, 0.1, 2, 40)]
cases += [case(rng, "stable_reinforce", stable_reinforce, 0.5, kl_coeff=k) for k in (0.0, 1.5)]
print(json.dumps(cases, indent=1))
