"""Entropies of softmax rows and their gradients by PyTorch's autograd, in float64 over float32 logits.

    python entropy.py > entropy.json        (PyTorch 2.x; any CPU)

The loss of a row is g*logp[target] + e*H; centre is the sum of p^2*(H + log p).
"""
import json
import torch

rows = []
gen = torch.Generator().manual_seed(7)
for n, scale in [(5, 1.0), (256, 3.0), (257, 0.1), (700, 6.0), (33, 40.0)]:
    x = (torch.randn(n, generator=gen) * scale).float()
    target, g, e = int(torch.randint(n, (1,), generator=gen)), 0.75, -0.5
    z = x.double().requires_grad_()
    lp = torch.log_softmax(z, -1)
    p = lp.exp()
    h = -(p * lp).sum()
    (g * lp[target] + e * h).backward()
    rows.append({"logits": [float(f"{v:.9g}") for v in x.tolist()], "target": target, "g": g, "e": e, "entropy": h.item(),
                 "centre": (p * p * (h + lp)).sum().item(), "gradient": [float(f"{v:.7g}") for v in z.grad.tolist()]})
print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")
