"""Calls every public method of the Tinker SDK that is installed against the server that TINKER_BASE_URL names.

Prints one JSON object per method: {"method", "sync", "async", "note"}; sync and async are "works", "refused", "-" (there is no such
method) or "FAILED". A refusal is right only for the methods in REFUSED, with the server's own words in it.

    check.py methods          every method
    check.py train N          N steps of training, the loss of each; then a sample: the same numbers whatever happens to the server
"""

import asyncio
import inspect
import json
import sys
import warnings

warnings.simplefilter("ignore")

import tinker
from tinker import types

BASE = "tiny"
ANSWER = 60  # seconds that any call may take

# What a server on one machine does not have. The SDK itself refuses whoami without a JWT.
REFUSED = {
    "assign_session_project", "export_session_trace", "get_audit_log", "get_billing_usage", "get_current_checkpoint_storage_usage",
    "copy_weights", "search_sessions", "whoami",
}
# The server's words, and the SDK's own when it does not even ask: whoami without a JWT, copy_weights without a project, and
# get_audit_log_async of 0.25, which fails in any event loop but its own.
REASONS = ("is not served by this server", "JWT", "destination_project_id", "called from incorrect event loop")
# Not calls to a server.
LOCAL = {"holder", "get_telemetry", "create", "on_queue_state_change", "get_console_url"}


def batch(n=5, length=20):
    data = []
    for k in range(n):
        tokens = [(7 * k + 3 * i) % 200 + 5 for i in range(length)]
        data.append(types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]),
                                loss_fn_inputs={"target_tokens": tokens[1:], "weights": [1.0] * (length - 1)}))
    return data


def rl_batch(loss):
    data = []
    for d in batch(2):
        n = d.model_input.length
        data.append(types.Datum(model_input=d.model_input, loss_fn_inputs={
            "target_tokens": d.loss_fn_inputs["target_tokens"], "logprobs": [-1.0] * n, "advantages": [0.5] * n}))
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
    return {
        "ServiceClient": (lambda: w.service, {
            "get_server_capabilities": lambda: ((), {}),
            "create_lora_training_client": lambda: ((), dict(base_model=BASE, rank=4, train_unembed=False)),
            "create_training_client_from_state": lambda: ((w.state,), {}),
            "create_training_client_from_state_with_optimizer": lambda: ((w.state,), {}),
            "create_sampling_client": lambda: ((), dict(base_model=BASE)),
            "create_rest_client": lambda: ((), {}),
            "copy_weights": lambda: ((w.state,), {}),
        }),
        "TrainingClient": (lambda: w.training, {
            "forward": lambda: ((batch(), "cross_entropy"), {}),
            "forward_backward": lambda: ((batch(), "cross_entropy"), {}),
            "forward_backward_custom": lambda: (([strip(d) for d in batch()], custom), {}),
            "optim_step": lambda: ((adam,), {}),
            "save_state": lambda: ((w.name(),), dict(ttl_seconds=7200)),
            "load_state": lambda: ((w.state,), {}),
            "load_state_with_optimizer": lambda: ((w.state,), {}),
            "save_weights_for_sampler": lambda: ((w.name(),), {}),
            "save_weights_and_get_sampling_client": lambda: ((), {}),
            "save_weights_external": lambda: ((w.name(),), {}),
            "create_sampling_client": lambda: ((w.weights,), {}),
            "get_info": lambda: ((), {}),
            "get_tokenizer": lambda: ((), {}),
        }),
        "SamplingClient": (lambda: w.sampling, {
            "sample": lambda: ((), dict(prompt=w.prompt, num_samples=2, sampling_params=params, include_prompt_logprobs=True, topk_prompt_logprobs=2)),
            "compute_logprobs": lambda: ((w.prompt,), {}),
            "get_base_model": lambda: ((), {}),
            "get_tokenizer": lambda: ((), {}),
            "get_sampler_handle": lambda: ((), {}),
            "from_sampler_handle": lambda: ((w.sampling.get_sampler_handle(),), {}),
        }),
        "RestClient": (lambda: w.rest, {
            "get_server_capabilities": lambda: ((), {}),
            "get_training_run": lambda: ((w.run,), {}),
            "get_training_run_by_tinker_path": lambda: ((w.state,), {}),
            "list_training_runs": lambda: ((), {}),
            "list_checkpoints": lambda: ((w.run,), {}),
            "list_user_checkpoints": lambda: ((), {}),
            "get_weights_info_by_tinker_path": lambda: ((w.weights,), {}),
            "get_checkpoint_archive_url": lambda: ((w.run, w.id_of(w.weights)), {}),
            "get_checkpoint_archive_url_from_tinker_path": lambda: ((w.weights,), {}),
            "delete_checkpoint": lambda: ((w.run, w.id_of(w.fresh())), {}),
            "delete_checkpoint_from_tinker_path": lambda: ((w.fresh(),), {}),
            "publish_checkpoint_from_tinker_path": lambda: ((w.weights,), {}),
            "unpublish_checkpoint_from_tinker_path": lambda: ((w.weights,), {}),
            "set_checkpoint_ttl_from_tinker_path": lambda: ((w.weights, 7200), {}),
            "list_sessions": lambda: ((), {}),
            "get_session": lambda: ((w.session,), {}),
            "get_sampler": lambda: ((w.session + ":sample:0",), {}),
            "assign_session_project": lambda: ((w.session, "p"), {}),
            "export_session_trace": lambda: ((w.session,), {}),
            "get_audit_log": lambda: ((), {}),
            "get_billing_usage": lambda: ((day(), day().replace(hour=2)), {}),
            "get_current_checkpoint_storage_usage": lambda: ((), {}),
            "get_external_weights_urls": lambda: ((w.external(),), {}),
            "copy_weights": lambda: ((w.state, "p"), {}),
            "search_sessions": lambda: ((types.SessionSearchRequest(),), {}),
            "whoami": lambda: ((), {}),
        }),
    }


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
            return "refused", text.split("not served by this server: ")[-1].split("'detail': ")[-1].strip("'\"}")
        return "FAILED", f"{type(e).__name__}: {text}"


def methods():
    w = World()
    bad = 0
    for cls, (obj, table) in calls(w).items():
        owner = type(obj())
        public = sorted(n for n in dir(owner) if not n.startswith("_") and n not in LOCAL and not n.endswith("_async"))
        for name in public:
            if name in ("close", "create_custom_loss"):
                continue  # close is the last call of all; create_custom_loss traces at the client
            line = {"method": f"{cls}.{name}", "sync": "-", "async": "-", "note": ""}
            if name not in table:
                line.update(sync="FAILED", note="this check does not know the method")
            elif name == "forward_backward_custom" and not has_torch():
                line.update(sync="not run", note="needs torch: make sdk-torch")
            else:
                def call():
                    args, kwargs = table[name]()
                    settle(getattr(obj(), name)(*args, **kwargs))

                async def call_async():
                    args, kwargs = table[name]()
                    await settle_async(getattr(obj(), name + "_async")(*args, **kwargs))

                line["sync"], line["note"] = outcome(name, call)
                if hasattr(owner, name + "_async"):
                    line["async"], note = outcome(name, lambda: asyncio.run(call_async()))
                    line["note"] = note if line["async"] == "FAILED" else line["note"] or note
            bad += "FAILED" in (line["sync"], line["async"])
            print(json.dumps(line), flush=True)
    for loss, config in [("importance_sampling", None), ("ppo", {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}), ("cispo", None), ("dro", {"beta": 0.05})]:
        def call():
            settle(w.training.forward_backward(rl_batch(loss), loss, config))
        kind, note = outcome(loss, call)
        bad += kind == "FAILED"
        print(json.dumps({"method": f"loss {loss}", "sync": kind, "async": "-", "note": note}), flush=True)
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
