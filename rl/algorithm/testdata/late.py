"""Writes late.json: the advantages that a trainer computes, on the batch of late_test.go, in padded PyTorch tensors.

    python late.py > late.json        (PyTorch 2.x; any CPU)
"""
import json

import torch

torch.manual_seed(7)
B, T = 6, 8
old, ref, teacher, values, entropy, centre = (2 * torch.rand(B, T) - 1 for _ in range(6))
mask = torch.rand(B, T) > 0.5
old = old - 1
tail = torch.rand(B, 2)  # per experience: reward, baseline
reward, baseline = tail[:, 0], tail[:, 1]
length = torch.tensor([8 - i % 3 for i in range(B)])
task = torch.tensor([i % 2 for i in range(B)])
inside = torch.arange(T) < length[:, None]
old, ref, teacher, values, entropy, centre, reward, baseline = (x.double() for x in (old, ref, teacher, values, entropy, centre, reward, baseline))
mask, values = mask & inside, values * inside
scores = torch.zeros(B, T, dtype=torch.double)
scores[torch.arange(B), length - 1] = reward


def whiten(x):
    v = x[mask]
    return (x - v.mean()) / (v.var() + 1e-8).sqrt()


def gae(r, gamma, lam):
    """As verl carries over observation tokens, but with their rewards."""
    a, nxt, between = (torch.zeros(B, dtype=torch.double) for _ in range(3))
    advantages, returns = [], []
    for t in reversed(range(T)):
        between = between + r[:, t]
        m = mask[:, t]
        a = torch.where(m, between + gamma * nxt - values[:, t] + gamma * lam * a, a)
        nxt = torch.where(m, values[:, t], nxt)
        between = torch.where(m, 0, between)
        advantages.append(a)
        returns.append(a + nxt)
    return whiten(torch.stack(advantages[::-1], 1)), torch.stack(returns[::-1], 1)


def plus(r, gamma):
    g, between = (torch.zeros(B, dtype=torch.double) for _ in range(2))
    out = []
    for t in reversed(range(T)):
        between = between + r[:, t]
        g = torch.where(mask[:, t], between + gamma * g, g)
        between = torch.where(mask[:, t], 0, between)
        out.append(g)
    g = torch.stack(out[::-1], 1)
    return whiten(g) * mask, g


def remax(r):
    g = r.flip(-1).cumsum(-1).flip(-1)
    return g - baseline[:, None] * mask, g


def grouped(r, f):
    s = r.sum(-1)
    out = torch.zeros_like(s)
    for k in (0, 1):
        out[task == k] = f(s[task == k])
    a = out[:, None] * mask
    return a, a


def grpo(r):
    return grouped(r, lambda s: (s - s.mean()) / (s.std() + 1e-6))


def clipb(r, mu):
    a, _ = grpo(r)
    s = old.exp() * (entropy + old)
    e, sd = s[mask].mean(), s[mask].std(unbiased=False)
    return a, a, mask & ~((a < 0) & (s - e < -mu * sd))


def clipv(r, mu, max_frac):
    a, _ = grpo(r)
    d = centre - old.exp() * (entropy + old)
    drop = mask & (a <= 0) & (d > mu * d[mask].std(unbiased=False))
    if drop.sum() > max_frac * mask.sum():
        k = max(int(max_frac * mask.sum()), 1)
        worst = d[drop].sort(descending=True).values[:k]
        drop = drop & (d >= worst[-1])
    return a, a, mask & ~drop


def jsd(lam, coef, temp):
    s, t = old / temp, teacher / temp
    if lam == 0:
        j = s - t
    elif lam == 1:
        j = t - s
    else:
        m = ((1 - lam) * s.exp() + lam * t.exp()).log()
        j = lam * (t - m) + (1 - lam) * (s - m)
    return -coef * j * mask, -coef * j * mask


def penalised(coef):
    kl = (old - ref) ** 2 / 2 * mask
    return scores - coef * kl, (kl.sum(-1) / mask.sum(-1))[mask.any(-1)].mean().item()


def distill(coef):
    a = coef * (teacher - old) * mask
    return a, a


def case(name, fn, args, out, penalty="", penalty_args=None, kl=0.0):
    rows = lambda x: [[v.item() if x.dtype == torch.bool else float(f"{v.item():.9g}") + 0.0 for v in x[i, :length[i]]] for i in range(B)]
    return {"name": name, "advantage": fn, "args": args, "penalty": penalty, "penaltyargs": penalty_args, "kl": kl,
            "advantages": rows(out[0]), "returns": rows(out[1]), "mask": rows(out[2]) if len(out) > 2 else None}


logavgexp = lambda tau: lambda s: s - tau * ((s / tau).exp().mean()).log()
less, kl = penalised(0.25)
cases = [
    case("ppo", "ppo", {}, gae(scores, 1, 1)),
    case("ppo, discounted", "ppo", {"gamma": 0.9, "lam": 0.8}, gae(scores, 0.9, 0.8)),
    case("ppo with a penalty", "ppo", {"lam": 0.5}, gae(less, 1, 0.5), "k2", {"kl_coef": 0.25}, kl),
    case("reinforceplusplus", "reinforceplusplus", {"gamma": 0.7}, plus(scores, 0.7)),
    case("reinforceplusplus with a penalty", "reinforceplusplus", {}, plus(less, 1), "k2", {"kl_coef": 0.25}, kl),
    case("rloo", "rloo", {}, grouped(scores, lambda s: 3 / 2 * (s - s.mean()))),
    case("rloo with a penalty", "rloo", {}, grouped(less, lambda s: 3 / 2 * (s - s.mean())), "k2", {"kl_coef": 0.25}, kl),
    case("remax", "remax", {}, remax(scores)),
    case("remax with a penalty", "remax", {}, remax(less), "k2", {"kl_coef": 0.25}, kl),
    case("grpo_verl", "grpo_verl", {}, grpo(scores)),
    case("opmd_verl", "opmd_verl", {}, grouped(scores, lambda s: s - s.mean())),
    case("opmd_verl, soft", "opmd_verl", {"opmd_baseline": "logavgexp", "tau": 0.3}, grouped(scores, logavgexp(0.3))),
    case("asymre_verl", "asymre_verl", {}, grouped(scores, lambda s: s - s.mean() + 0.1)),
    case("clipb", "clipb", {"mu": 0.5}, clipb(scores, 0.5)),
    case("clipb, wide", "clipb", {}, clipb(scores, 2.5)),
    case("clipv", "clipv", {"mu": 0.2, "max_frac": 1.0}, clipv(scores, 0.2, 1.0)),
    case("clipv, at most two", "clipv", {"mu": 0.2, "max_frac": 0.15}, clipv(scores, 0.2, 0.15)),
    case("clipv, wide", "clipv", {}, clipv(scores, 8.5, 1e-4)),
    case("on_policy_distill", "on_policy_distill", {"kl_coef": 0.5}, distill(0.5)),
    case("jsd", "jsd", {"estimate": "pointwise"}, jsd(0.5, 1, 1)),
    case("jsd, warm", "jsd", {"lambda_coef": 0.2, "kl_coef": 2.0, "temperature": 1.5, "estimate": "pointwise"}, jsd(0.2, 2, 1.5)),
    case("jsd, forward", "jsd", {"lambda_coef": 0.0, "estimate": "pointwise"}, jsd(0, 1, 1)),
    case("jsd, reverse", "jsd", {"lambda_coef": 1.0, "estimate": "pointwise"}, jsd(1, 1, 1)),
]
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
