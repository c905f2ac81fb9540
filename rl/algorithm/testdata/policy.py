"""Writes policy.json: every policy loss on Trinity-RFT's test batch, with the gradient that PyTorch's autograd finds.

The formulas are written down here once more, in the notation of the papers, with detach() where a factor is held
constant, so that the gradients of the Go code are checked against something that differentiates by itself.

    python policy.py > policy.json        (PyTorch 2.x; any CPU)
"""
import json
import math

import torch

torch.manual_seed(42)
B, R = 5, 20
lp0, old, ref = (2 * torch.rand(B, R) - 1 for _ in range(3))
mask = torch.rand(B, R) > 0.5
adv = 2 * torch.rand(B, R) - 1
expert = torch.rand(B) > 0.5
lp0, old, ref, adv = (x.double() for x in (lp0, old, ref, adv))


def zero(x, m):
    return torch.where(m, x, torch.zeros_like(x))


def row_mean(x, m):
    return zero(x, m).sum(-1) / (m.sum(-1) + 1e-8)


AGG = {
    "token-mean": lambda x, m: zero(x, m).sum() / (m.sum() + 1e-8),
    "seq-mean-token-sum": lambda x, m: zero(x, m).sum(-1).mean(),
    "seq-mean-token-mean": lambda x, m: row_mean(x, m).mean(),
    "seq-mean-token-sum-norm": lambda x, m: zero(x, m).sum() / (m.shape[-1] + 1e-8),
}


def ppo(lp, lo=0.2, hi=0.2, c=3.0, rows=slice(None)):
    a, x = adv[rows], (lp - old[rows]).clamp(-20, 20)
    r = x.exp()
    clipped = torch.maximum(-a * r, -a * r.clamp(1 - lo, 1 + hi))
    return torch.where(a < 0, torch.minimum(clipped, -a * c), clipped)


def gspo(lp, lo=0.0003, hi=0.0004):
    s = row_mean(lp - old, mask).detach().unsqueeze(-1)
    r = (lp - lp.detach() + s).exp()
    return torch.maximum(-adv * r, -adv * r.clamp(1 - lo, 1 + hi))


def cispo(lp, lo=1.0, hi=0.28, drop=False):
    r = (lp - old).exp().detach()
    keep = torch.ones_like(r)
    if drop:
        keep = (~(((r > 1.28) & (adv > 0)) | ((r < 0.5) & (adv < 0)))).double()
    return -adv * r.clamp(1 - lo, 1 + hi) * keep * lp


def topr(lp, thr=0.0):
    r = (lp - old).exp().detach()
    return -torch.where(adv > thr, torch.ones_like(r), r.clamp(0, 1)) * adv * lp


def sapo(lp, pos=1.0, neg=1.05, through=False):
    r = (lp - old).exp()
    tau = torch.where(adv > 0, pos, neg).double()
    gate = torch.sigmoid(tau * (r - 1)) * 4 / tau
    return -gate * adv if through else -gate.detach() * adv * lp


def m2po(lp, threshold=0.04):
    x = (lp - old).detach()
    trust = mask & (((adv > 0) & (x > 0)) | ((adv < 0) & (x < 0)))
    keep = mask.clone()
    values, order = torch.sort(x[trust] ** 2, stable=True)
    n = int((values.cumsum(0) / torch.arange(1, len(values) + 1) <= threshold).sum())
    where = trust.nonzero()
    keep[tuple(where[order[n:]].T)] = False
    return torch.where(keep, -adv * (lp - old).exp(), torch.zeros_like(lp))


def sppo(lp, eps=0.3):
    r = (lp - old).exp().detach()
    return -adv * (lp - old) * ((r >= 1 / (1 + eps)) & (r <= 1 + eps)).double()


def phi(lp, cutoff=1.0):
    p = lp.exp().detach()
    return -(lp.clamp(max=math.log(cutoff)) if cutoff < 1 else lp) * p * (1 - p)


def rec(lp, clip="none", weight="none", reg="none", coef=0.0, temp=1.0, distill=False):
    r = (lp - old).exp().detach()
    s = row_mean(lp - old, mask).exp().detach().unsqueeze(-1).expand(B, R)
    near = (r >= 0.8) & (r <= 1.2)
    one = lambda x: ((x <= 1.2) & (adv >= 0)) | ((x >= 0.8) & (adv <= 0))
    inside = {"none": torch.ones_like(near), "two-side": near, "one-side": one(r), "gspo-one-side": one(s),
              "ring": near | ((adv >= 0) & (r <= 0.4)) | ((adv <= 0) & (r >= 3))}[clip]
    a = adv * {"none": 1, "importance_sampling": r, "truncated_importance_sampling": r.clamp(0.4, 3),
               "gspo_importance_sampling": s, "advantage": (adv / temp).exp()}[weight]
    if distill:
        a = a + old - lp.detach()
    out = -a * lp * inside.double()
    return out + {"none": 0, "k2": coef * (lp - old) ** 2, "forward-kl": -coef * lp}[reg]


def dpo(lp, beta=0.1, ls=0.0):
    """Mean over the two pairs of rows 0-1 and 2-3."""
    total = 0
    for i in (0, 2):
        x = [zero(lp[k] - ref[k], mask[k]).sum() for k in (i, i + 1)]
        z = beta * (x[0] - x[1])
        total = total - (1 - ls) * torch.nn.functional.logsigmoid(z) - ls * torch.nn.functional.logsigmoid(-z)
    return total / 2


def mix(lp, agg, mu=0.1, supervised=lambda lp: -lp):
    """One micro-batch with all weights 1: each kind's mean times its number of rows."""
    g = AGG[agg](ppo(lp[~expert], rows=~expert), mask[~expert]) * (~expert).sum()
    s = AGG[agg](supervised(lp[expert]), mask[expert]) * expert.sum()
    return (1 - mu) * g + mu * s


TOKEN = {  # name: (policy_loss_fn, arguments, loss per token)
    "ppo": ("ppo", {}, ppo),
    "ppo, uneven": ("ppo", {"clip_range_low": 0.1, "clip_range_high": 0.28, "clip_ratio_c": 1.5}, lambda lp: ppo(lp, 0.1, 0.28, 1.5)),
    "gspo": ("gspo", {}, gspo),
    "gspo, wide": ("gspo", {"clip_range": 0.3}, lambda lp: gspo(lp, 0.3, 0.3)),
    "cispo": ("cispo", {}, cispo),
    "cispo, both": ("cispo", {"clip_range_low": 0.2, "enable_mask_clip": True, "mask_clip_range_low": 0.5}, lambda lp: cispo(lp, 0.2, 0.28, True)),
    "topr": ("topr", {}, topr),
    "topr, threshold": ("topr", {"advantage_threshold": 0.5}, lambda lp: topr(lp, 0.5)),
    "sapo": ("sapo", {}, sapo),
    "sapo, steep": ("sapo", {"tau_pos": 2.0, "tau_neg": 3.0}, lambda lp: sapo(lp, 2.0, 3.0)),
    "sapo, the paper's": ("sapo", {"surrogate": "ratio"}, lambda lp: sapo(lp, through=True)),
    "sppo": ("sppo", {}, sppo),
    "m2po": ("m2po", {}, m2po),
    "m2po, wide": ("m2po", {"m2_threshold": 0.5}, lambda lp: m2po(lp, 0.5)),
    "opmd": ("opmd", {"tau": 0.5}, lambda lp: -adv * lp / 1.5),
    "importance_sampling": ("importance_sampling", {}, lambda lp: -adv * (lp - old).clamp(-20, 20).exp()),
    "sft": ("sft", {}, lambda lp: -lp),
    "sft_is": ("sft_is", {}, lambda lp: -lp * lp.exp().detach()),
    "sft_phi": ("sft_phi", {}, phi),
    "sft_phi, cutoff": ("sft_phi", {"cutoff_prob": 0.75}, lambda lp: phi(lp, 0.75)),
    "rec": ("rec", {}, rec),
    "rec, one side, weighted": ("rec", {"clip_mode": "one-side", "weight": "importance_sampling"}, lambda lp: rec(lp, "one-side", "importance_sampling")),
    "rec, two sides, k2": ("rec", {"clip_mode": "two-side", "regularizer": "k2", "regularizer_coef": 0.3}, lambda lp: rec(lp, "two-side", reg="k2", coef=0.3)),
    "rec, ring, forward": ("rec", {"clip_mode": "ring", "epsilon_low_prime": 0.6, "epsilon_high_prime": 2, "weight": "truncated_importance_sampling",
                                   "regularizer": "forward-kl", "regularizer_coef": 0.3},
                           lambda lp: rec(lp, "ring", "truncated_importance_sampling", "forward-kl", 0.3)),
    "rec, by advantage": ("rec", {"weight": "advantage", "temp": 0.5}, lambda lp: rec(lp, weight="advantage", temp=0.5)),
    "rec, distilling": ("rec", {"fix_opd_advantage": True}, lambda lp: rec(lp, distill=True)),
}
WHOLE = {  # name: (policy_loss_fn, arguments, rows, loss of aggregation)
    "rec, sequences": ("rec", {"clip_mode": "gspo-one-side", "weight": "gspo_importance_sampling"}, 5,
                       lambda lp, agg: AGG["seq-mean-token-mean"](rec(lp, "gspo-one-side", "gspo_importance_sampling"), mask)),
    "dpo": ("dpo", {}, 4, lambda lp, agg: dpo(lp)),
    "dpo, smooth": ("dpo", {"beta": 0.5, "label_smoothing": 0.2}, 4, lambda lp, agg: dpo(lp, 0.5, 0.2)),
    "mix": ("mix", {}, 5, mix),
    "mix, other share": ("mix", {"mu": 0.5}, 5, lambda lp, agg: mix(lp, agg, 0.5)),
    "mix_chord": ("mix_chord", {}, 5, lambda lp, agg: mix(lp, agg, supervised=phi)),
    "mix_chord, plain": ("mix_chord", {"enable_phi_function": False}, 5, mix),
}


def case(name, fn, args, agg, rows, loss):
    lp = lp0.clone().requires_grad_()
    v = loss(lp)
    v.backward()
    grad = [[float(f"{g:.8g}") + 0.0 for g in row] for row in lp.grad[:rows].tolist()]
    return {"name": name, "loss": fn, "args": args, "aggregation": agg, "value": float(f"{v.item():.10g}"), "gradient": grad}


def cases():
    for name, (fn, args, f) in TOKEN.items():
        yield case(name, fn, args, "token-mean", B, lambda lp: AGG["token-mean"](f(lp), mask))
    for agg in list(AGG)[1:]:
        yield case("ppo", "ppo", {}, agg, B, lambda lp: AGG[agg](ppo(lp), mask))
        yield case("gspo", "gspo", {}, agg, B, lambda lp: AGG[agg](gspo(lp), mask))
        yield case("mix", "mix", {}, agg, B, lambda lp: mix(lp, agg))
    for name, (fn, args, rows, f) in WHOLE.items():
        yield case(name, fn, args, "token-mean", rows, lambda lp: f(lp, "token-mean"))


print("[\n" + ",\n".join(json.dumps(c) for c in cases()) + "\n]")
