"""What servers of others answer when they are full, and behind a restart: recorded for the tests of package client, which replay it."""

import json


class Recorder:
    def __init__(self, server):
        self.server, self.when, self.list = server, "running", []

    def ask(self, what, method, path, body=None):
        status, text = self.server.call(method, path, body)
        try:
            out = json.loads(text)
        except ValueError:
            out = text
        self.list.append({"when": self.when, "what": what, "path": path, "status": status, "body": out})
        return out

    def wait(self, what, path, body):
        """A request and its result."""
        p = self.ask(what, "POST", path, body)
        if "request_id" not in p:
            return p
        return self.ask(what + ": result", "POST", "/retrieve_future", {"request_id": p["request_id"]})


def record(server, full):
    """Talks to a server, kills it, starts it again and talks to it once more. full: fill it with models."""
    r = Recorder(server)
    session = r.ask("session", "POST", "/create_session", {"tags": [], "user_metadata": {}, "sdk_version": "0.25.0", "type": "create_session"})["session_id"]
    r.ask("capabilities", "GET", "/get_server_capabilities")
    base = r.list[-1]["body"]["supported_models"][0]["model_name"]
    adam = {"learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-12, "weight_decay": 0.0, "grad_clip_norm": 0.0}

    def model(n, what="model"):
        return r.wait(what, "/create_model", {"session_id": session, "model_seq_id": n, "base_model": base, "lora_config": {"rank": 4, "seed": 1}, "type": "create_model"})

    def sample(what, sampler, seed=1):
        return r.wait(what, "/asample", {"sampling_session_id": sampler, "seq_id": 0, "num_samples": 1, "prompt": {"chunks": [{"type": "encoded_text", "tokens": [1, 2]}]},
                                         "sampling_params": {"max_tokens": 1, "seed": seed, "temperature": 1.0}, "type": "sample"})

    def sampler(what, session, n, path):
        return r.ask(what, "POST", "/create_sampling_session", {"session_id": session, "sampling_session_seq_id": n, "model_path": path, "type": "create_sampling_session"})

    m = model(0)["model_id"]
    step = {"model_id": m, "seq_id": 1, "adam_params": adam, "type": "optim_step"}
    r.wait("save state", "/save_weights", {"model_id": m, "path": "state", "seq_id": 1, "type": "save_weights"})
    weights = r.wait("save sampler weights", "/save_weights_for_sampler", {"model_id": m, "path": "sampler", "seq_id": 2, "type": "save_weights_for_sampler"})["path"]
    s = sampler("sampler", session, 0, weights)["sampling_session_id"]
    if full:
        sample("a sample with a long seed", s, 1 << 40)
        more = [model(n)["model_id"] for n in (1, 2)]
        model(3, "a model too many")
        for gone in more:
            r.wait("unload", "/unload_model", {"model_id": gone, "type": "unload_model"})
        model(4, "a model when there is room again")
    pending = r.ask("optimizer step", "POST", "/optim_step", {**step, "seq_id": 3})["request_id"]
    r.ask("optimizer step: result", "POST", "/retrieve_future", {"request_id": pending})
    server.kill()
    server.start()
    r.when = "restarted"
    r.ask("an earlier result", "POST", "/retrieve_future", {"request_id": pending})
    r.ask("heartbeat", "POST", "/session_heartbeat", {"session_id": session, "type": "session_heartbeat"})
    r.ask("info", "POST", "/get_info", {"model_id": m, "type": "get_info"})
    r.wait("optimizer step", "/optim_step", {**step, "seq_id": 4})
    sample("sample", s)
    again = sampler("sampler", session, 1, weights)
    if "sampling_session_id" in again:
        sample("sample of a new sampler", again["sampling_session_id"])
    model(5, "model in the old session")
    r.ask("state", "POST", "/weights_info", {"tinker_path": f"tinker://{m}/weights/state"})
    server.kill()
    return r.list
