"""Writes losses.json: values and gradients of gspo, stable_reinforce and trinity_ppo, computed from their published formulas in float64.

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


def trinity_ppo(p, q, a, mask, ref, clip_range=0.2, clip_ratio_c=3.0, kl_coef=0.001, num_total_datums=1):
    """Dual-clipped PPO (arXiv:1912.09729) with k2 of KL(policy || reference): the mean over the masked tokens, divided by the batch's datums."""
    gap = p - q
    r = np.exp(np.where(np.abs(gap.real) > 20, np.clip(gap.real, -20, 20), gap))
    def clamp(low, high):
        return np.where(r.real < low, low, np.where(r.real > high, high, r))
    token = np.where(a < 0, -a * clamp(1 - clip_range, clip_ratio_c), -a * clamp(0, 1 + clip_range)) + kl_coef * 0.5 * (p - ref) ** 2
    return np.sum((mask > 0) * token) / max(np.sum(mask > 0), 1) / num_total_datums


def case(rng, name, loss, gap, **config):
    n = 12
    p = -np.exp(rng.normal(0, 1, n)).astype(np.float32).astype(float)
    q = (p + rng.normal(0, gap, n)).astype(np.float32).astype(float)
    a = rng.normal(0, 1, n).astype(np.float32).astype(float)
    mask = np.array([0] * 3 + [1] * 9)
    if loss is stable_reinforce:
        a[:3] = 0
    a[5] = 0
    given = {}
    if loss is trinity_ppo:
        mask[7] = 0
        given["ref"] = (p + rng.normal(0, 0.5, n)).astype(np.float32).astype(float)
    grad = [loss(p + 1j * 1e-30 * np.eye(n)[i], q, a, mask, **given, **config).imag / 1e-30 for i in range(n)]
    keys = {"low": "clip_low_threshold", "high": "clip_high_threshold"}
    return {
        "name": name,
        "config": {keys.get(k, k): v for k, v in config.items()},
        "logp": list(p), "q": list(q), "advantages": list(a), "mask": [float(m) for m in mask],
        **{k: list(v) for k, v in given.items()},
        "loss": float(loss(p + 0j, q, a, mask, **given, **config).real), "grad": grad,
    }


rng = np.random.default_rng(20)
cases = [case(rng, "gspo", gspo, gap) for gap in (1e-5, 1e-3, 0.3)]
cases += [case(rng, "gspo", gspo, gap, low=0.8, high=1.3) for gap in (0.1, 1.0)]
cases += [case(rng, "stable_reinforce", stable_reinforce, gap) for gap in (0, 0.1, 2, 40)]
cases += [case(rng, "stable_reinforce", stable_reinforce, 0.5, kl_coeff=k) for k in (0.0, 1.5)]
cases += [case(rng, "trinity_ppo", trinity_ppo, gap, num_total_datums=3) for gap in (0.0, 0.3, 1.5, 40.0)]
cases += [case(rng, "trinity_ppo", trinity_ppo, 0.7, num_total_datums=1, kl_coef=k, clip_range=0.1, clip_ratio_c=1.5) for k in (0.0, 0.3)]
print(json.dumps(cases, indent=1))
