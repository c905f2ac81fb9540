"""Writes adamw.json: five steps of torch.optim.AdamW in float32 with clipping by torch.nn.utils.clip_grad_norm_.

    python adamw.py > adamw.json
"""
import json
import torch

torch.manual_seed(0)
cases = []
for lr, b1, b2, eps, wd, clip in [
    (1e-4, 0.9, 0.95, 1e-12, 0.0, 0.0),
    (5e-4, 0.9, 0.999, 1e-8, 0.1, 1.0),
    (1e-2, 0.5, 0.9, 1e-3, 0.01, 100.0),
]:
    params = [torch.nn.Parameter(torch.randn(7)), torch.nn.Parameter(torch.randn(3, 2))]
    opt = torch.optim.AdamW(params, lr=lr, betas=(b1, b2), eps=eps, weight_decay=wd, foreach=False)
    case = dict(adam=dict(learning_rate=lr, beta1=b1, beta2=b2, eps=eps, weight_decay=wd, grad_clip_norm=clip),
                start=[p.flatten().tolist() for p in params], steps=[])
    for _ in range(5):
        grads = [torch.randn_like(p) * 3 for p in params]
        grads[0][2] = 0
        for p, g in zip(params, grads):
            p.grad = g.clone()
        norm = torch.nn.utils.clip_grad_norm_(params, clip if clip > 0 else float("inf"))
        opt.step()
        case["steps"].append(dict(
            grads=[g.flatten().tolist() for g in grads], norm=norm.item(),
            params=[p.detach().flatten().tolist() for p in params],
            m=[opt.state[p]["exp_avg"].flatten().tolist() for p in params],
            v=[opt.state[p]["exp_avg_sq"].flatten().tolist() for p in params]))
    cases.append(case)
print(json.dumps(dict(torch=torch.__version__, cases=cases)))
