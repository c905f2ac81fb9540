"""Writes random cases with what Trinity-RFT's own losses and advantages make of them, one JSON object a line.

The files of the wheel are imported as they are; only what they import from Ray, verl and the buffers is stubbed. Losses
are computed in float64, so that differences are of formulas and not of rounding, with the gradient that PyTorch's
autograd finds. Numbers are float32 values, which Go reads exactly.

    python upstream.py FOLDER CASES > cases.jsonl     (the unpacked wheel of trinity-rft; PyTorch 2, any CPU)
"""
import importlib
import json
import logging
import random
import sys
import types

import numpy as np
import torch

ROOT, CASES = sys.argv[1], int(sys.argv[2])
random.seed(7)
rng = np.random.default_rng(7)


def package(name, **members):
    """A package whose __init__ is not run; its other files are upstream's."""
    m = types.ModuleType(name)
    m.__path__ = [ROOT + "/" + name.replace(".", "/")]
    m.__dict__.update(members)
    sys.modules[name] = m


class EID:
    def __init__(self, task, run, step):
        self.task, self.run, self.step = task, run, step
        self.tid, self.rid = f"1/{task}", f"1/{task}/{run}"


class Experience:
    def __init__(self, task, run, step, reward, mask, logprobs, info):
        self.eid, self.reward, self.info = EID(task, run, step), reward, info
        self.action_mask, self.logprobs = torch.tensor(mask), torch.tensor(logprobs)
        self.advantages = self.metrics = None


def group_by(experiences, id_type):
    groups = {}
    for e in experiences:
        groups.setdefault({"task": e.eid.tid, "run": e.eid.rid}[id_type], []).append(e)
    return groups


class Batch:  # verl's DataProto, as far as it is read
    def __init__(self, batch, uid):
        self.batch, self.non_tensor_batch = batch, {"uid": uid}


for name in ("trinity", "trinity.common", "trinity.utils", "trinity.algorithm"):
    package(name)
package("trinity.buffer")
package("trinity.buffer.operators", ExperienceOperator=type("ExperienceOperator", (), {}))
package("trinity.common.experience", Experience=Experience, group_by=group_by)
package("trinity.utils.annotations", Deprecated=lambda c: c)
package("trinity.utils.log", get_logger=logging.getLogger)
package("verl", DataProto=Batch)
for name in ("policy_loss_fn", "kl_fn", "entropy_loss_fn", "advantage_fn"):
    package("trinity.algorithm." + name)
from trinity.algorithm.advantage_fn.advantage_fn import AdvantageFn, GroupAdvantage  # noqa: E402

sys.modules["trinity.algorithm.advantage_fn"].__dict__.update(AdvantageFn=AdvantageFn, GroupAdvantage=GroupAdvantage)


def function(module, name):
    return getattr(importlib.import_module("trinity.algorithm." + module), name)


def f32(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def pick(**choices):
    """Arguments, each given half of the time, by one of its values."""
    return {k: random.choice(v) for k, v in choices.items() if random.random() < 0.5}


def grid(a):
    return [[float(v) for v in row] for row in a]


def sequences(even=False):
    """B sequences of the same width; each has a trained token, and the widths of rows differ by masks."""
    n, width = (2 if even else random.randint(2, 4)), random.randint(2, 8)
    shape = (n, width)
    scale = random.choice([0.1, 1, 1, 3])
    lp = -f32(rng.exponential(1, shape))
    old = f32(np.minimum(lp + rng.normal(0, scale, shape), 0))
    ref = f32(np.minimum(lp + rng.normal(0, scale, shape), 0))
    mask = rng.random(shape) < 0.7
    mask[np.arange(n), rng.integers(0, width, n)] = True
    adv = f32(rng.normal(0, 1, shape))
    if random.random() < 0.5:  # one advantage a sequence, as group functions give it
        adv = np.repeat(adv[:, :1], width, 1)
    adv[rng.random(shape) < 0.1] = 0
    return lp, old, ref, mask, adv


MODES = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
CLIP = dict(clip_range=[0.1, 0.3], clip_range_low=[0.15], clip_range_high=[0.28])
MIX = dict(mu=[0, 0.5], clip_range=[0.3], ppo_mini_batch_size=[4, 8], train_batch_size_usual=[2],
           train_batch_size_expert=[2], sft_loss_agg_mode=MODES[:3], grpo_loss_agg_mode=MODES[:3])
CHORD = dict(MIX, mu_warmup_steps=[4], mu_decay_steps=[3, 10], mu_peak=[0.5], mu_valley=[0.05], enable_phi_function=[True, False])
del CHORD["mu"]
LOSSES = {
    "ppo": ("ppo_policy_loss", "PPOPolicyLossFn", dict(CLIP, clip_ratio_c=[1.5, 5.0], enable_sequence_masking=[True],
            delta_sequence_masking=[0.01, 0.5], fallback_to_policy_gradient=[True])),
    "gspo": ("gspo_policy_loss", "GSPOLossFn", dict(clip_range_low=[0.2], clip_range_high=[0.3])),
    "cispo": ("cispo_policy_loss", "CISPOPolicyLossFn", dict(clip_range_low=[0.5], clip_range_high=[0.5],
              enable_mask_clip=[True], mask_clip_range_low=[0.5], mask_clip_range_high=[0.1])),
    "sapo": ("sapo_policy_loss", "SAPOPolicyLossFn", dict(tau_pos=[0.5, 0.9], tau_neg=[1.0, 3])),
    "sppo": ("sppo_loss_fn", "sPPOPolicyLossFn", dict(epsilon=[0.1, 1.0])),
    "topr": ("topr_policy_loss", "TOPRPolicyLossFn", dict(advantage_threshold=[-0.5, 0.5])),
    "opmd": ("opmd_policy_loss", "OPMDPolicyLossFn", dict(tau=[0, 2.5])),
    "rec": ("rec_policy_loss", "RECPolicyLossFn", dict(epsilon_low=[0.1], epsilon_high=[0.4], epsilon_low_prime=[0.5],
            epsilon_high_prime=[1.5], clip_mode=["none", "one-side", "two-side", "ring", "gspo-one-side"],
            weight=["none", "importance_sampling", "advantage"], regularizer=["none", "k2", "forward-kl"],
            regularizer_coef=[0.1], temp=[0.5])),
    "importance_sampling": ("importance_sampling_policy_loss", "ImportanceSamplingLossFn", {}),
    "sft": ("sft_loss", "SFTLossFn", {}),
    "sft_is": ("chord_policy_loss", "SFTISLossFn", {}),
    "sft_phi": ("chord_policy_loss", "SFTPhiLossFn", dict(cutoff_prob=[0.3, 0.9])),
    "dpo": ("dpo_loss", "DPOLossFn", dict(beta=[0.5], label_smoothing=[0.1])),
    "mix": ("mix_policy_loss", "MIXPolicyLossFn", MIX),
    "mix_chord": ("chord_policy_loss", "MIXCHORDPolicyLossFn", CHORD),
}


def loss_case(name):
    module, cls, choices = LOSSES[name]
    lp, old, ref, mask, adv = sequences(even=name == "dpo")
    upstream = function("policy_loss_fn." + module, cls)
    args = dict(upstream.default_args())
    given = pick(**choices)
    if name == "rec" and given.get("weight") == "none":
        given.pop("weight")
    args.update(given)
    mode = random.choice(MODES)
    if name == "rec":  # 0.6.0 has no argument for it
        mode = "token-mean"
    elif name != "dpo":
        args["loss_agg_mode"] = mode
    expert = np.zeros(len(lp), bool)
    if name.startswith("mix"):
        expert[: random.randint(1, len(lp) - 1)] = True
    step = random.randint(1, 12)
    x = torch.tensor(lp, requires_grad=True)
    t = torch.tensor
    value, metrics = upstream(backend="verl", **args)(
        logprob=x, old_logprob=t(old), ref_logprob=t(ref), action_mask=t(mask), advantages=t(adv),
        expert_mask=t(expert), step=torch.full((len(lp),), step))
    value.backward()
    ours = {k: v for k, v in args.items() if k != "loss_agg_mode"}
    return {"kind": "loss", "name": name, "args": ours, "aggregation": mode, "logprobs": grid(lp), "old": grid(old),
            "ref": grid(ref), "mask": mask.tolist(), "advantages": grid(adv), "expert": expert.tolist(), "step": step,
            "value": value.item(), "gradient": grid(x.grad.numpy()), "metrics": metrics}


KLS = {"k1": "K1Fn", "k2": "K2Fn", "k3": "K3Fn", "low_var_kl": "LowVarKLFn", "abs": "AbsFn", "corrected_k3": "CorrectedK3Fn"}


def kl_case(name):
    lp, old, ref, mask, _ = sequences()
    mode, x = random.choice(MODES), torch.tensor(lp, requires_grad=True)
    fn = function("kl_fn.kl_fn", KLS[name])(kl_coef=0.25)
    value, metrics = fn.calculate_kl_loss(x, torch.tensor(ref), torch.tensor(mask), mode, torch.tensor(old))
    value.backward()
    return {"kind": "kl", "name": name, "args": {"kl_coef": 0.25}, "aggregation": mode, "logprobs": grid(lp),
            "old": grid(old), "ref": grid(ref), "mask": mask.tolist(), "value": value.item(),
            "gradient": grid(x.grad.numpy()), "metrics": metrics}


def entropy_case(name):
    lp, _, _, mask, _ = sequences()
    h, mode = f32(rng.exponential(1, lp.shape)), random.choice(MODES)
    expert = np.zeros(len(lp), bool)
    expert[0] = name == "mix"
    cls = {"default": "DefaultEntropyLossFn", "mix": "MixEntropyLossFn"}[name]
    x = torch.tensor(h, requires_grad=True)
    value, metrics = function("entropy_loss_fn.entropy_loss_fn", cls)(entropy_coef=0.5)(
        x, torch.tensor(mask), expert_mask=torch.tensor(expert), loss_agg_mode=mode)
    value.backward()
    return {"kind": "entropy", "name": name, "args": {"entropy_coef": 0.5}, "aggregation": mode, "logprobs": grid(lp),
            "entropy": grid(h), "mask": mask.tolist(), "expert": expert.tolist(), "value": value.item(),
            "gradient": grid(x.grad.numpy()), "metrics": metrics}


EARLY = {
    "grpo": ("grpo_advantage", "GRPOGroupedAdvantage", dict(epsilon=[1e-4], std_threshold=[0.0, 0.3],
             rank_penalty=[0.25], std_cal_level=["group", "batch"])),
    "step_wise_grpo": ("multi_step_grpo_advantage", "StepWiseGRPOAdvantageFn", dict(epsilon=[1e-4],
                       std_threshold=[0.0, 0.3], enable_step_norm=[True], std_cal_level=["group", "batch"])),
    "gigpo": ("gigpo_advantage", "GiGPOAdvantageFn", dict(omega=[0.5, 2.0], gamma=[0.9], fnorm=["std"], epsilon=[1e-4])),
    "opmd": ("opmd_advantage", "OPMDGroupAdvantage", dict(opmd_baseline=["logavgexp"], tau=[0.5])),
    "asymre": ("asymre_advantage", "ASYMREGroupAdvantage", dict(baseline_shift=[-0.5, 0.2])),
    "rec": ("rec_advantage", "RECGroupedAdvantage", dict(epsilon=[1e-4], std_normalize=[True])),
    "reinforce": ("reinforce_advantage", "REINFORCEGroupAdvantage", {}),
}


def reward():
    return random.choice([lambda: random.randint(0, 1), lambda: random.randint(-4, 4) / 4, lambda: float(f32(random.gauss(0, 1)))])


def early_case(name):
    module, cls, choices = EARLY[name]
    upstream = function("advantage_fn." + module, cls)
    args, steps, draw = pick(**choices), name in ("step_wise_grpo", "gigpo"), reward()
    records, exps = [], []
    for task in range(random.randint(1, 4)):
        sparse = random.random() < 0.3
        for run in range(random.randint(2 if name == "rec" else 1, 5)):
            n, last = (random.randint(1, 4) if steps else 1), float(draw())
            for step in range(n):
                width = random.randint(1, 4)
                info = {}
                if name == "gigpo":
                    if random.random() < 0.9:
                        info["env_state_hash"] = random.randint(1, 4)
                    if not sparse:
                        info["step_reward"] = float(draw())
                r = {"task": str(task), "run": run, "step": step, "reward": last, "info": info,
                     "mask": (rng.random(width) < 0.8).tolist(), "logprobs": [float(v) for v in f32(-rng.exponential(1, width))]}
                records.append(r)
                exps.append(Experience(task, run, step, last, r["mask"], r["logprobs"], dict(info)))
    kept, metrics = upstream(**args).process(exps)
    runs = {}
    for r in records:
        runs.setdefault(r["task"], set()).add(r["run"])
    if min(map(len, runs.values())) == 1:  # of one alone upstream says mean 0, deviation 1; here they are its own
        metrics = {k: v for k, v in metrics.items() if "reward_mean" not in k and "reward_std" not in k}
    out = [{"rid": e.eid.rid, "step": e.eid.step, "advantages": [float(v) for v in e.advantages]} for e in kept]
    return {"kind": "early", "name": name, "args": args, "experiences": records, "kept": out, "metrics": metrics}


LATE = {
    "ppo": ("ppo_advantage", "PPOAdvantageFn", dict(gamma=[0.9], lam=[0.8])),
    "reinforceplusplus": ("reinforce_plus_plus_advantage", "REINFORCEPLUSPLUSAdvantageFn", dict(gamma=[0.9])),
    "rloo": ("rloo_advantage", "RLOOAdvantageFn", {}),
    "remax": ("remax_advantage", "REMAXAdvantageFn", {}),
    "grpo_verl": ("grpo_advantage", "GRPOAdvantageFn", dict(epsilon=[1e-4])),
    "opmd_verl": ("opmd_advantage", "OPMDAdvantageFn", dict(opmd_baseline=["mean", "logavgexp"], tau=[0.5])),
    "asymre_verl": ("asymre_advantage", "ASYMREAdvantageFn", dict(baseline_shift=[-0.5, 0.2])),
    "clipb": ("clipb_advantage", "ClipBAdvantageFn", dict(epsilon=[1e-4], mu=[0.5, 1.0])),
    "clipv": ("clipv_advantage", "ClipVAdvantageFn", dict(epsilon=[1e-4], mu=[0.5, 1.0], max_frac=[0.2, 0.9])),
    "on_policy_distill": ("on_policy_distill_advantage", "OnPolicyDistillAdvantage", dict(kl_coef=[0.5])),
    "jsd": ("jsd_advantage", "JSDAdvantage", dict(lambda_coef=[0, 0.3, 1], kl_coef=[0.5], temperature=[2.0], chunk_size=[2])),
}


def late_case(name):
    module, cls, choices = LATE[name]
    upstream = function("advantage_fn." + module, cls)
    args = dict(upstream.default_args(), **pick(**choices))
    n, width = random.randint(3, 6), random.randint(2, 6)
    shape, draw = (n, width), reward()
    mask = np.ones(shape, bool)
    if name not in ("ppo", "reinforceplusplus", "remax"):  # whose recursions skip what is not trained, see docs
        mask = rng.random(shape) < 0.8
        mask[:, 0] = True
    lp, teacher = -f32(rng.exponential(1, shape)), -f32(rng.exponential(1, shape))
    values, entropy, centre = f32(rng.normal(0, 1, shape)), f32(rng.exponential(1, shape)), f32(rng.normal(0, 0.3, shape))
    rewards, baselines = [float(draw()) for _ in range(n)], f32(rng.normal(0, 1, n))
    tasks = sorted(str(random.randint(0, 2)) for _ in range(n))
    token = np.zeros(shape)
    token[:, -1] = rewards
    t = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32)
    batch = {"token_level_rewards": t(token), "response_mask": t(mask), "values": t(values), "reward_baselines": t(baselines),
             "rollout_log_probs": t(lp), "old_log_probs": t(lp), "entropys": t(entropy), "necs": t(centre),
             "teacher_logprobs": t(teacher)}
    exps, metrics = upstream(**args)(Batch(batch, tasks))
    for sign in ("pos", "neg"):  # of no token upstream clips all, here none
        a = exps.batch["advantages"].numpy() * mask
        if not ((a > 0) if sign == "pos" else (a < 0)).any():
            metrics.pop("frac_clipped_" + sign, None)
    if name == "jsd":
        args["estimate"] = "pointwise"
    return {"kind": "late", "name": name, "args": args, "tasks": tasks, "rewards": rewards, "mask": mask.tolist(),
            "logprobs": grid(lp), "teacher": grid(teacher), "values": grid(values), "entropy": grid(entropy),
            "centre": grid(centre), "baselines": [float(b) for b in baselines],
            "advantages": grid(exps.batch["advantages"]), "returns": grid(exps.batch["returns"]),
            "masked": (exps.batch["response_mask"] > 0).tolist(), "metrics": metrics}


kinds = [(loss_case, n) for n in LOSSES] + [(kl_case, n) for n in KLS] + [(entropy_case, n) for n in ("default", "mix")]
kinds += [(early_case, n) for n in EARLY] + [(late_case, n) for n in LATE]
for i in range(CASES):
    make, name = kinds[i % len(kinds)]
    print(json.dumps(make(name)))
