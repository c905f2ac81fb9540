"""Writes dimuon.json: steps of Dimuon as package optim describes it, with numpy's SVD and eigh instead of its own routines.

    python dimuon.py > dimuon.json
"""
import json
import numpy as np


def inverse_root(s, damping):
    l, q = np.linalg.eigh(s + damping * np.eye(len(s)))
    return q @ np.diag(l ** -0.5) @ q.T


def msign(x):
    u, s, v = np.linalg.svd(x, full_matrices=False)
    keep = s > 1e-6 * s[0]
    return u[:, keep] @ v[keep]


def step(w, m, g, lr, beta, damping, exponent, clip):
    norm = np.sqrt(sum((x.astype(float) ** 2).sum() for x in g))
    c = min(1, clip / (norm + 1e-6)) if clip > 0 else 1
    m = [(x + (y * np.float32(c) - x) * np.float32(1 - beta)).astype(np.float32) for x, y in zip(m, g)]
    out = []
    for k in range(0, len(w), 2):
        a, b, ma, mb = (x.astype(float) for x in (w[k], w[k + 1], m[k], m[k + 1]))
        r = len(a)
        p, q = inverse_root(b.T @ b, damping), inverse_root(a @ a.T, damping)
        size = lr * (32 / r) ** exponent * np.sqrt(r)
        for x, d in ((a, p @ msign(p @ ma)), (b, msign(mb @ q) @ q)):
            n = np.linalg.norm(d)
            out.append((x - (size / n * d if n > 0 else 0)).astype(np.float32))
    return out, m, norm


rng = np.random.default_rng(3)
cases = []
for shapes, zero, config in [
    ([(4, 6, 9), (4, 16, 3)], True, dict(learning_rate=0.02, grad_clip_norm=0.0, beta1=0.9, damping=1e-4, rank_lr_correction_exponent=0.175)),
    ([(8, 5, 7)], False, dict(learning_rate=0.01, grad_clip_norm=1.0, beta1=0.5, damping=1e-2, rank_lr_correction_exponent=0.0)),
    ([(1, 6, 4), (16, 12, 9)], False, dict(learning_rate=0.1, grad_clip_norm=-1.0, beta1=0.0, damping=1e-4, rank_lr_correction_exponent=-1.0)),
]:
    w = []
    for r, n, o in shapes:
        w += [rng.normal(0, 0.3, (r, n)).astype(np.float32), (np.zeros((o, r)) if zero else rng.normal(0, 0.3, (o, r))).astype(np.float32)]
    m = [np.zeros_like(x) for x in w]
    case = dict(shapes=shapes, dimuon=config, start=[x.ravel().tolist() for x in w], steps=[])
    for n in range(3):
        g = [(rng.normal(0, 2, x.shape) * (0 if zero and n == 0 and k % 2 == 0 else 1)).astype(np.float32) for k, x in enumerate(w)]
        w, m, norm = step(w, m, g, config["learning_rate"], config["beta1"], config["damping"], config["rank_lr_correction_exponent"], config["grad_clip_norm"])
        case["steps"].append(dict(grads=[x.ravel().tolist() for x in g], norm=float(norm), params=[x.ravel().tolist() for x in w], m=[x.ravel().tolist() for x in m]))
    cases.append(case)


def short(x):
    return float(np.format_float_positional(np.float32(x), unique=True)) if isinstance(x, float) else x


def walk(x):
    if isinstance(x, dict):
        return {k: v if k == "dimuon" else walk(v) for k, v in x.items()}
    return [walk(v) for v in x] if isinstance(x, (list, tuple)) else short(x)


print(json.dumps(dict(numpy=np.__version__, cases=[walk(c) for c in cases])))
