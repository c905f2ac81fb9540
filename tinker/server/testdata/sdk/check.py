"""Calls every public method of the Tinker SDK that is installed against the server that TINKER_BASE_URL names.

Prints one JSON object per method: {"method", "sync", "async", "note"}; sync and async are "works", "refused", "-" (there is no such
method) or "FAILED". A refusal is right only for what is in REFUSED, with the server's own words in it. A method, a parameter of one, or a
kind of chunk that this check does not use is FAILED too.

    check.py methods          every method
    check.py train N          N steps of training, the loss of each; then a sample: the same numbers whatever happens to the server
"""

import asyncio
import inspect
import json
import os
import sys
import typing
import urllib.request
import warnings

warnings.simplefilter("ignore")

import tinker
from tinker import types

BASE = "tiny"
ANSWER = 60  # seconds that any call may take

# What a server on one machine does not have. The SDK itself refuses whoami without a JWT.
REFUSED = {
    "get_audit_log", "get_billing_usage", "get_current_checkpoint_storage_usage", "whoami",
    "chunk ImageChunk", "chunk ImageAssetPointerChunk", "chunk DmelChunk", "parameter age_encryption_recipients",
}
# The server's words, and the SDK's own when it does not even ask: whoami without a JWT, and get_audit_log_async of 0.25, which fails in any
# event loop but its own.
REASONS = ("is not served by this server", "JWT", "called from incorrect event loop", "reads text only", "does not download images",
           "which no model here reads", "exports are not encrypted here")
# Not calls to a server.
LOCAL = {"holder", "get_telemetry"}
# Parameters with rows of their own, and those of the machinery inside the SDK.
APART = {"age_encryption_recipients", "adam_params", "holder", "retry_config", "sampling_session_id", "api_key", "loss_type_input", "loss_fn_config",
         "topk_sample_logprobs", "target_prompt_logprobs", "prompt_alt_tokens_k", "model_path", "args", "kwargs"}
PROJECT = "check"


def batch(n=5, length=20):
    data = []
    for k in range(n):
        tokens = [(7 * k + 3 * i) % 200 + 5 for i in range(length)]
        data.append(types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]),
                                loss_fn_inputs={"target_tokens": tokens[1:], "weights": [1.0] * (length - 1)}))
    return data


def rl_batch(loss, **more):
    data = []
    for d in batch(2):
        n = d.model_input.length
        data.append(types.Datum(model_input=d.model_input, loss_fn_inputs={
            "target_tokens": d.loss_fn_inputs["target_tokens"], "logprobs": [-1.0] * n, "advantages": [0.5] * n,
            **{k: types.TensorData(data=[v] * n, dtype="float32", shape=[n]) for k, v in more.items()}}))
    return data


def settle(x):
    """The result of whatever a method returned."""
    if hasattr(x, "result") and callable(x.result):
        return x.result(timeout=ANSWER) if "timeout" in inspect.signature(x.result).parameters else x.result()
    return x


async def settle_async(x):
    for _ in range(3):
        if inspect.isawaitable(x) or hasattr(x, "__await__"):
            x = await asyncio.wait_for(_wait(x), ANSWER)
        elif hasattr(x, "result_async"):
            x = await asyncio.wait_for(x.result_async(), ANSWER)
    return x


async def _wait(x):
    return await x


class World:
    """The objects that methods are called on and with."""

    def __init__(self):
        self.n = 0
        os.environ["TINKER_PROJECT_ID"] = PROJECT
        self.service = tinker.ServiceClient(user_metadata={"who": "check"})
        self.training = settle(self.service.create_lora_training_client(base_model=BASE, rank=8, seed=1, user_metadata={"k": "v"}))
        self.rest = self.service.create_rest_client()
        self.state = settle(self.training.save_state("first")).path
        self.weights = settle(self.training.save_weights_for_sampler("first")).path
        self.sampling = settle(self.service.create_sampling_client(model_path=self.weights))
        self.prompt = types.ModelInput.from_ints([5, 6, 7, 8])
        self.run = self.state.split("/")[2]
        self.session = self.run.split(":")[0]

    def name(self):
        self.n += 1
        return f"n{self.n}"

    def fresh(self):
        """A checkpoint to be deleted."""
        return settle(self.training.save_state(self.name())).path

    def external(self):
        return settle(self.training.save_weights_external(self.name())).path

    def id_of(self, path):
        return path.split("/", 3)[3]


def day():
    import datetime
    return datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def custom(data, logprobs):
    loss = sum((lp * lp).sum() for lp in logprobs)
    return loss, {"custom:sum": float(loss.detach())}


def calls(w):
    """Arguments by class and method; each is made anew for every call."""
    adam = types.AdamParams(learning_rate=1e-3)
    params = types.SamplingParams(max_tokens=4, temperature=1.0, seed=3)
    token, hour, scope = os.environ["TINKER_API_KEY"], dict(ttl_seconds=7200), dict(access_scope="owned")
    recorded, meta = dict(record_stability_info=True), dict(user_metadata={"k": "v"})
    lora = dict(base_model=BASE, rank=4, seed=1, train_mlp=True, train_attn=True, train_unembed=False, **meta)
    if hasattr(types, "AdamOptimizerConfig"):
        lora["optimizer"] = types.AdamOptimizerConfig()
    begin = {k: lora[k] for k in ("base_model", "user_metadata", "optimizer") if k in lora} | dict(weights_access_token=token)
    return {
        "ServiceClient": (lambda: w.service, {
            "get_server_capabilities": lambda: ((), {}),
            "create_lora_training_client": lambda: ((), lora),
            "create_training_client_from_state": lambda: ((w.state,), begin),
            "create_training_client_from_state_with_optimizer": lambda: ((w.state,), {k: v for k, v in begin.items() if k != "optimizer"}),
            "create_sampling_client": lambda: ((), dict(base_model=BASE, **recorded)),
            "create_rest_client": lambda: ((), {}),
            "copy_weights": lambda: ((w.state,), dict(**hour, weights_access_token=token)),
            "get_console_url": lambda: ((), {}),
            "get_telemetry": lambda: ((), {}),
            "create_custom_loss": lambda: ((traced, {"logprobs": 1}), {}),
        }),
        "TrainingClient": (lambda: w.training, {
            "forward": lambda: ((batch(), "cross_entropy"), {}),
            "forward_backward": lambda: ((batch(), "cross_entropy"), {}),
            "forward_backward_custom": lambda: (([strip(d) for d in batch()], custom), {}),
            "optim_step": lambda: ((adam,), {}),
            "save_state": lambda: ((w.name(),), dict(**hour, **meta, overwrite=True)),
            "load_state": lambda: ((w.state,), dict(weights_access_token=token)),
            "load_state_with_optimizer": lambda: ((w.state,), dict(weights_access_token=token)),
            "save_weights_for_sampler": lambda: ((w.name(),), dict(**hour, **meta)),
            "save_weights_and_get_sampling_client": lambda: ((), dict(name=None, kind="snapshot", **recorded)),
            "save_weights_external": lambda: ((w.name(),), hour),
            "create_sampling_client": lambda: ((w.weights,), recorded),
            "get_console_url": lambda: ((), {}),
            "get_telemetry": lambda: ((), {}),
            "get_info": lambda: ((), {}),
            "get_tokenizer": lambda: ((), {}),
        }),
        "SamplingClient": (lambda: w.sampling, {
            "sample": lambda: ((), dict(prompt=w.prompt, num_samples=2, sampling_params=params, include_prompt_logprobs=True, topk_prompt_logprobs=2, prompt_logprobs_last_n=2)),
            "compute_logprobs": lambda: ((w.prompt,), dict(prompt_logprobs_last_n=2)),
            "get_telemetry": lambda: ((), {}),
            "get_base_model": lambda: ((), {}),
            "get_tokenizer": lambda: ((), {}),
            "get_sampler_handle": lambda: ((), {}),
            "from_sampler_handle": lambda: ((w.sampling.get_sampler_handle(),), {}),
            "create": lambda: ((w.service.holder,), dict(base_model=BASE, **recorded)),
            "on_queue_state_change": lambda: (paused(w), {}),
        }),
        **admin(),
        "RestClient": (lambda: w.rest, {
            "get_server_capabilities": lambda: ((), {}),
            "get_telemetry": lambda: ((), {}),
            "get_training_run": lambda: ((w.run,), scope),
            "get_training_run_by_tinker_path": lambda: ((w.state,), scope),
            "list_training_runs": lambda: ((), dict(limit=5, offset=0, project_id=PROJECT, **scope)),
            "list_checkpoints": lambda: ((w.run,), {}),
            "list_user_checkpoints": lambda: ((), dict(limit=5, offset=0)),
            "get_weights_info_by_tinker_path": lambda: ((w.weights,), {}),
            "get_checkpoint_archive_url": lambda: ((w.run, w.id_of(w.weights)), {}),
            "get_checkpoint_archive_url_from_tinker_path": lambda: ((w.weights,), {}),
            "delete_checkpoint": lambda: ((w.run, w.id_of(w.fresh())), {}),
            "delete_checkpoint_from_tinker_path": lambda: ((w.fresh(),), {}),
            "publish_checkpoint_from_tinker_path": lambda: ((w.weights,), {}),
            "unpublish_checkpoint_from_tinker_path": lambda: ((w.weights,), {}),
            "set_checkpoint_ttl_from_tinker_path": lambda: ((w.weights, 7200), {}),
            "list_sessions": lambda: ((), dict(limit=5, offset=0, **scope)),
            "get_session": lambda: ((w.session,), scope),
            "get_sampler": lambda: ((w.session + ":sample:0",), {}),
            "assign_session_project": lambda: ((w.session, PROJECT), {}),
            "export_session_trace": lambda: ((w.session,), {}),
            "get_audit_log": lambda: ((), dict(event_type="all", day=day().date())),
            "get_billing_usage": lambda: ((day(), day().replace(hour=2)), {}),
            "get_current_checkpoint_storage_usage": lambda: ((), dict(project_id=PROJECT)),
            "get_external_weights_urls": lambda: ((w.external(),), {}),
            "copy_weights": lambda: ((w.state, PROJECT), dict(**hour, weights_access_token=token)),
            "search_sessions": lambda: ((types.SessionSearchRequest(session_id=w.session, project_ids=[PROJECT]),), {}),
            "whoami": lambda: ((), {}),
        }),
    }


def admin():
    """The client of organizations' administrators, where there is one. A server on one machine has nothing for it."""
    if not hasattr(tinker, "AdminClient"):
        return {}
    client = tinker.AdminClient()
    return {"AdminClient": (lambda: client, {
        "get_audit_log": lambda: ((), dict(event_type="all", day=day().date())),
        "get_telemetry": lambda: ((), {}),
        "get_billing_usage": lambda: ((day(), day().replace(hour=2)), {}),
        "get_current_checkpoint_storage_usage": lambda: ((), dict(project_id=PROJECT)),
    })}


def traced(logprobs):
    """A custom loss that the SDK can trace."""
    return (logprobs * logprobs).sum(), {"custom/square:sum": (logprobs * logprobs).sum()}


def paused(w):
    """The arguments of a call-back: what the server said while more samples were under way than it takes at once."""
    from tinker.lib.api_future_impl import QueueState
    return (QueueState.PAUSED_CAPACITY, "257 sample requests are under way on this server")


def parameters(w):
    """What is asked for beside samples, and what comes: by row the call, which checks its own answer. None is: this SDK has no such parameter."""
    has = inspect.signature(type(w.sampling).sample).parameters
    prompt, n = types.ModelInput.from_ints([5, 6, 7, 8]), 4

    def sample(sampling=None, **kwargs):
        return settle(w.sampling.sample(prompt, 1, types.SamplingParams(**{"max_tokens": 4, "temperature": 1.0, "seed": 3, **(sampling or {})}), **kwargs))

    def prompt_logprobs():
        r = sample(include_prompt_logprobs=True)
        assert len(r.prompt_logprobs) == n and r.prompt_logprobs[0] is None, r.prompt_logprobs

    def topk_prompt():
        r = sample(include_prompt_logprobs=True, topk_prompt_logprobs=2)
        assert [len(row or []) for row in r.topk_prompt_logprobs] == [0, 2, 2, 2], r.topk_prompt_logprobs

    def topk_sample():
        q = sample(topk_sample_logprobs=3).sequences[0]
        assert all(len(row) == 3 and row[0][1] >= own for row, own in zip(q.topk_logprobs, q.logprobs, strict=True)), q.topk_logprobs

    def targets(data):
        r = sample(include_prompt_logprobs=True, target_prompt_logprobs=data)
        assert abs(float(r.target_prompt_logprobs.data[0]) - r.prompt_logprobs[2]) == 0 and r.target_prompt_logprobs.shape == [3, 1], r.target_prompt_logprobs
        assert r.target_prompt_logprobs.sparse_crow_indices == data.sparse_crow_indices

    def dense():
        r = sample(include_prompt_logprobs=True, target_prompt_logprobs=types.TensorData(data=[-1, 7, -1], dtype="int64", shape=[3, 1]))
        assert list(r.target_prompt_logprobs.data)[1] == r.prompt_logprobs[2] and list(r.target_prompt_logprobs.data)[0] == 0, r.target_prompt_logprobs

    def alternatives():
        r = sample(prompt_alt_tokens_k=5).prompt_alt_tokens
        assert r.tokens.shape == [3, 5] == r.logprobs.shape and all(x <= 0 for x in r.logprobs.data), r

    def last():
        r = sample(include_prompt_logprobs=True, prompt_logprobs_last_n=1)
        assert r.prompt_logprobs[:3] == [None] * 3 and r.prompt_logprobs[3] < 0, r.prompt_logprobs

    def stops(stop, reason, least):
        q = sample({"max_tokens": 64, "stop": stop}).sequences[0]
        assert (reason is None or q.stop_reason == reason) and len(q.tokens) >= least, q

    def stability():
        sampler = settle(w.service.create_sampling_client(base_model=BASE, record_stability_info=True))
        r = settle(sampler.sample(prompt, 1, types.SamplingParams(max_tokens=4)))
        assert r.sequences[0].sequence_id, r

    def inflight():
        """A sampler of kind inflight has the weights of a later save, for the answer under way too; one of kind snapshot has not."""
        training = settle(w.service.create_lora_training_client(base_model=BASE, rank=4, seed=1))
        published = lambda kind: settle(training.save_weights_and_get_sampling_client(kind=kind))
        ask = lambda sampler, n, most: sampler.sample(prompt, n, types.SamplingParams(max_tokens=most, seed=1, stop=[]))
        old, still = published("inflight"), published("snapshot")
        before, under_way = settle(ask(still, 1, 32)), ask(old, 64, 200)
        for _ in range(3):
            training.forward_backward(batch(), "cross_entropy")
            training.optim_step(types.AdamParams(learning_rate=1e-2))
            new = published("inflight")
        assert len(settle(under_way).sequences) == 64
        want = settle(ask(new, 1, 32)).sequences[0]
        for _ in range(100):
            got = settle(ask(old, 1, 32)).sequences[0]
            if got.logprobs == want.logprobs:
                break
        assert got.logprobs == want.logprobs and got.tokens == want.tokens, (got, want)
        same, then = settle(ask(still, 1, 32)).sequences[0], before.sequences[0]
        assert same.logprobs == then.logprobs != want.logprobs, (same, then, want)

    rows = {
        "parameter include_prompt_logprobs": ("include_prompt_logprobs", prompt_logprobs),
        "parameter topk_prompt_logprobs": ("topk_prompt_logprobs", topk_prompt),
        "parameter topk_sample_logprobs": ("topk_sample_logprobs", topk_sample),
        "parameter target_prompt_logprobs, dense": ("target_prompt_logprobs", dense),
        "parameter target_prompt_logprobs, sparse": ("target_prompt_logprobs", lambda: targets(types.TensorData(
            data=[7], dtype="int64", shape=[3, 1], sparse_crow_indices=[0, 0, 1, 1], sparse_col_indices=[0]))),
        "parameter prompt_alt_tokens_k": ("prompt_alt_tokens_k", alternatives),
        "parameter prompt_logprobs_last_n": ("prompt_logprobs_last_n", last),
        "parameter stop=[token]": ("prompt", lambda: stops([6], None, 1)),
        "parameter stop=\"text\"": ("prompt", lambda: stops("e", None, 1)),
        "parameter stop=[]: not even the end-of-sequence token": ("target_prompt_logprobs", lambda: stops([], "length", 64)),
    }
    rows = {row: call for row, (name, call) in rows.items() if name in has}
    if "record_stability_info" in inspect.signature(type(w.service).create_sampling_client).parameters:
        rows["parameter record_stability_info"] = stability
    if "kind" in inspect.signature(type(w.training).save_weights_and_get_sampling_client).parameters:
        rows["parameter kind: inflight"] = inflight
    return rows


def chunks(w):
    """Every kind of chunk that this SDK has, in a prompt and, where the SDK sends it, in training data."""
    png = b"\x89PNG\r\n\x1a\n"
    known = {"EncodedTextChunk": lambda: types.EncodedTextChunk(tokens=[5, 6, 7]), "ImageChunk": lambda: types.ImageChunk(data=png, format="png", expected_tokens=3),
             "ImageAssetPointerChunk": lambda: types.ImageAssetPointerChunk(format="png", location="https://example.com/a.png", expected_tokens=3),
             "DmelChunk": lambda: types.DmelChunk(dmel=b"\x00" * 8)}

    def use(kind):
        given = types.ModelInput(chunks=[types.EncodedTextChunk(tokens=[5]), known[kind]()])
        if kind != "ImageAssetPointerChunk":  # the SDK has no form for one in training data
            try:
                settle(w.training.forward([types.Datum(model_input=given, loss_fn_inputs={"target_tokens": [6] * 4, "weights": [1.0] * 4})], "cross_entropy"))
            except Exception as e:
                if kind == "DmelChunk" and "dmel" not in str(e) or kind == "ImageChunk" and "image" not in str(e):
                    raise AssertionError(f"not the reason: {e}") from e
                assert kind != "EncodedTextChunk", e
        settle(w.sampling.sample(given, 1, types.SamplingParams(max_tokens=2)))

    kinds = [n for n in dir(types) if n.endswith("Chunk") and inspect.isclass(getattr(types, n))]
    return {f"chunk {kind}": lambda kind=kind: use(kind) for kind in kinds}


def apart(w):
    """Parameters that are refused, and what answers say of what was asked."""
    rows = {}
    if "age_encryption_recipients" in inspect.signature(getattr(type(w.training), "save_weights_external", len)).parameters:
        rows["parameter age_encryption_recipients"] = lambda: settle(w.training.save_weights_external(w.name(), age_encryption_recipients=["age1x"]))
    if hasattr(w.rest, "copy_weights"):
        def copied():
            path = settle(w.rest.copy_weights(w.weights, PROJECT))
            prompt, params = types.ModelInput.from_ints([5, 6, 7]), types.SamplingParams(max_tokens=8, seed=1)
            a, b = (settle(settle(w.service.create_sampling_client(model_path=p)).sample(prompt, 1, params)).sequences[0] for p in (w.weights, path))
            assert (a.tokens, a.logprobs) == (b.tokens, b.logprobs), (a, b)
        rows["answer copy_weights: the copy samples the same tokens"] = copied
    if hasattr(w.rest, "search_sessions"):
        def found():
            page = settle(w.rest.search_sessions(types.SessionSearchRequest(user_metadata={"who": "check"}, project_ids=[PROJECT])))
            one = next(s for s in page.sessions if s.session_id == w.session)
            assert one.status.type == "active" and one.checkpoints_count > 0 and one.project_id == PROJECT, one
        rows["answer search_sessions: status, project, checkpoints"] = found

    def traced():
        with urllib.request.urlopen(settle(w.rest.export_session_trace(w.session))) as r:
            events = json.load(r)["traceEvents"]
        assert {"forward_backward", "sample", "checkpoint"} <= {e["name"] for e in events}, events[:3]
    rows["answer export_session_trace: training, samples, checkpoints"] = traced
    return rows


def unused(call, args, kwargs):
    """The parameters of a method that a call leaves out."""
    signature = inspect.signature(call)
    given = signature.bind_partial(*args, **kwargs).arguments
    return [p for p in signature.parameters if p not in given and p not in APART]


def taken(call, kwargs):
    """Of keyword arguments, those that this SDK's method has."""
    names = inspect.signature(call).parameters
    return {k: v for k, v in kwargs.items() if k in names or "kwargs" in names}


def optimizers(w):
    """Families of optimizers that this SDK has, each for a step."""
    adam = types.AdamParams(learning_rate=1e-3, beta1=0.8, beta2=0.9, eps=1e-8, weight_decay=0.01, grad_clip_norm=1.0)

    def step(params, **kwargs):
        client = settle(w.service.create_lora_training_client(base_model=BASE, rank=4, seed=1, **kwargs))
        client.forward_backward(batch(), "cross_entropy").result()
        assert settle(client.optim_step(params)).metrics["grad_norm"] > 0

    rows = {"optimizer adamw": lambda: step(adam)}
    if hasattr(types, "DimuonParams"):
        config = "optimizer_config" if "optimizer_config" in inspect.signature(type(w.service).create_lora_training_client).parameters else "optimizer"
        rows["optimizer dimuon"] = lambda: step(types.DimuonParams(learning_rate=1e-3), **{config: types.DimuonOptimizerConfig()})
    return rows


def losses(w):
    """Every loss that this SDK names, with its settings."""
    rows = {"cross_entropy": lambda: settle(w.training.forward_backward(batch(), "cross_entropy"))}
    for loss, config in [("importance_sampling", None), ("ppo", {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}), ("cispo", None), ("dro", {"beta": 0.05})]:
        rows[loss] = lambda loss=loss, config=config: settle(w.training.forward_backward(rl_batch(loss), loss, config))
    trinity = {"clip_range": 0.2, "clip_ratio_c": 3.0, "kl_coef": 0.001, "num_total_datums": 2}
    rows["trinity_ppo"] = lambda: settle(w.training.forward_backward(rl_batch("trinity_ppo", weights=1.0, ref_logprobs=-1.0), "trinity_ppo", trinity))
    rows["gspo"] = lambda: settle(w.training.forward_backward(rl_batch("gspo", sequence_ratio_mask=1.0), "gspo"))
    rows["stable_reinforce"] = lambda: settle(w.training.forward_backward(stable_batch(w), "stable_reinforce"))
    known = typing.get_args(types.LossFnType) if hasattr(types, "LossFnType") else ()
    return {f"loss {loss}": call for loss, call in rows.items() if loss in known or not known or loss == "trinity_ppo"}


def stable_batch(w):
    """A sampled sequence with the provenance of each of its positions."""
    sampler = settle(w.service.create_sampling_client(model_path=w.weights, record_stability_info=True))
    prompt = [5, 6, 7, 8]
    q = settle(sampler.sample(types.ModelInput.from_ints(prompt), 1, types.SamplingParams(max_tokens=6, seed=1, stop=[]))).sequences[0]
    tokens, n = prompt + list(q.tokens), len(q.tokens)
    datum = types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs={
        "target_tokens": tokens[1:], "logprobs": [0.0] * (len(prompt) - 1) + list(q.logprobs), "advantages": [0.0] * (len(prompt) - 1) + [0.5] * n})
    return [datum.with_provenance(
        model_input=[types.PromptProvenanceSpan(sequence_id=q.sequence_id, length=len(prompt)), types.SampledProvenanceSpan(sequence_id=q.sequence_id, length=n - 1)],
        loss_fn_inputs=[types.PromptProvenanceSpan(sequence_id=q.sequence_id, offset=1, length=len(prompt) - 1), types.SampledProvenanceSpan(sequence_id=q.sequence_id, length=n)])]


def strip(d):
    return types.Datum(model_input=d.model_input, loss_fn_inputs={"target_tokens": d.loss_fn_inputs["target_tokens"]})


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def outcome(name, call):
    try:
        call()
        return ("FAILED", "it should have been refused") if name in REFUSED else ("works", "")
    except Exception as e:  # every kind, the SDK has many
        text = " ".join(str(e).split())
        if name in REFUSED and any(x in text for x in REASONS):
            text = text.removeprefix("Request failed: ").split(" for self.request_id=")[0]
            return "refused", text.split("not served by this server: ")[-1].split("'detail': ")[-1].strip("'\"}")
        return "FAILED", f"{type(e).__name__}: {text}"


def methods():
    w = World()
    bad = 0
    for cls, (obj, table) in calls(w).items():
        owner = type(obj())
        public = sorted(n for n in dir(owner) if not n.startswith("_") and n not in LOCAL and not n.endswith("_async"))
        for name in public:
            if name == "close":
                continue  # the last call of all
            line = {"method": f"{cls}.{name}", "sync": "-", "async": "-", "note": ""}
            if name not in table:
                line.update(sync="FAILED", note="this check does not know the method")
            elif name in ("forward_backward_custom", "create_custom_loss") and not has_torch():
                line.update(sync="not run", note="needs torch: make bench NAME=sdk-torch")
            else:
                def call():
                    args, kwargs = table[name]()
                    settle(getattr(obj(), name)(*args, **taken(getattr(obj(), name), kwargs)))

                async def call_async():
                    args, kwargs = table[name]()
                    await settle_async(getattr(obj(), name + "_async")(*args, **taken(getattr(obj(), name), kwargs)))

                args, kwargs = table[name]()
                line["parameters"] = [p for p in inspect.signature(getattr(obj(), name)).parameters if p not in APART]
                if left := unused(getattr(obj(), name), args, taken(getattr(obj(), name), kwargs)):
                    print(json.dumps({"method": f"{cls}.{name}: {', '.join(left)}", "sync": "FAILED", "async": "-", "note": "this check does not use the parameter"}))
                    bad += 1
                line["sync"], line["note"] = outcome(name, call)
                if hasattr(owner, name + "_async"):
                    line["async"], note = outcome(name, lambda: asyncio.run(call_async()))
                    line["note"] = note if line["async"] == "FAILED" else line["note"] or note
            bad += "FAILED" in (line["sync"], line["async"])
            print(json.dumps(line), flush=True)
    for name, call in {**parameters(w), **losses(w), **optimizers(w), **chunks(w), **apart(w)}.items():
        kind, note = outcome(name, call)
        bad += kind == "FAILED"
        print(json.dumps({"method": name, "sync": kind, "async": "-", "note": note}), flush=True)
    if hasattr(w.service, "close"):
        kind, note = outcome("close", lambda: settle(w.service.close("success")))
        bad += kind == "FAILED"
        print(json.dumps({"method": "ServiceClient.close", "sync": kind, "async": "-", "note": note}), flush=True)
    return bad


def train(steps):
    service = tinker.ServiceClient()
    training = settle(service.create_lora_training_client(base_model=BASE, rank=8, seed=1))
    for i in range(steps):
        loss = training.forward_backward(batch(), "cross_entropy")
        step = training.optim_step(types.AdamParams(learning_rate=1e-2))
        print(i, repr(loss.result().metrics["loss:sum"]), repr(step.result().metrics["grad_norm"]), flush=True)
    sampler = training.save_weights_and_get_sampling_client()
    out = sampler.sample(types.ModelInput.from_ints([5, 6, 7]), 2, types.SamplingParams(max_tokens=16, seed=5)).result()
    print([(s.tokens, s.logprobs) for s in out.sequences], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(1 if (methods() if sys.argv[1] == "methods" else train(int(sys.argv[2]))) else 0)
