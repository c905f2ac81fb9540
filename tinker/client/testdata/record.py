"""Records what the real Python SDK sends, for TestSameBytesAsSDK.

    python3 -m venv v && v/bin/pip install tinker==0.25.0 zstandard && v/bin/python record.py > sdk-0.25.0.jsonl

The SDK, unmodified, makes a fixed series of calls against a small server in this process. Every request and its answer is
one line: method, path, the headers that matter, the body (JSON as it is, protobuf as hex, decompressed), and the answer.
The Go test makes the same calls and compares. Heartbeats, telemetry and the dynamic config are left out.
"""

import base64, importlib.metadata, json, os, struct, sys, threading, warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import zstandard

os.environ["TINKER_TELEMETRY"] = "0"
warnings.simplefilter("ignore")
KEEP = ["accept", "content-type", "content-encoding", "x-api-key", "x-tinker-request-type",
        "x-tinker-request-iteration", "x-tinker-sampling-backpressure"]
SKIP = ("/api/v1/session_heartbeat", "/api/v1/telemetry", "/api/v1/client/dynamic_config")


def b64(obj):
    return base64.urlsafe_b64encode(json.dumps(obj).encode()).rstrip(b"=").decode()


JWT = f"{b64({'alg': 'none'})}.{b64({'exp': 4102444800, 'sub': 'user'})}.sig"
SESSION = "0034d8c9-0a88-52a9-b2b7-bce7cb1e6fef"
CONFIG = {"pjwt_auth_enabled": False, "use_pyqwest_transport": False, "parallel_fwdbwd_chunks": False,
          "proto_compress_fwdbwd": True, "fwdbwd_max_chunk_len": 2, "create_model_via_load_weights": False}


def forward_result(n):
    """n datums of two and then three positions each, as section 9 of the protocol lays them out."""
    from tinker.proto import tinker_public_pb2 as pb
    out = pb.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord")
    rec = out.loss_fn_outputs.add(num_datums=n)
    t = rec.fields["logprobs"]
    t.dtype = pb.DTYPE_FLOAT32
    offsets, data = [0], b""
    for i in range(n):
        data += struct.pack("<%df" % (2 + i), *[-(i + 1) - j / 4 for j in range(2 + i)])
        offsets.append(len(data))
    t.data, t.offsets = data, struct.pack("<%dq" % (n + 1), *offsets)
    out.metrics["loss:sum"] = 1.5 * n
    return out.SerializeToString()


def sample_result(prompt_logprobs):
    from tinker.proto import tinker_public_pb2 as pb
    out = pb.SampleResponse(prompt_cache_hit_tokens=2)
    out.sequences.add(stop_reason=1, tokens=struct.pack("<2i", 11, 12), logprobs=struct.pack("<2f", -0.5, -1.25))
    out.sequences.add(stop_reason=0, tokens=struct.pack("<1i", 7), logprobs=struct.pack("<1f", -3))
    if prompt_logprobs:
        out.prompt_logprobs = struct.pack("<2f", float("nan"), -2)
        top = out.topk_prompt_logprobs
        top.k = 2
        top.token_ids, top.logprobs = struct.pack("<4i", 0, 0, 7, 9), struct.pack("<4f", -99999, -99999, -0.25, -3)
        for f in top.DESCRIPTOR.fields:
            if f.number == 4:
                setattr(top, f.name, 2)
    return out.SerializeToString()


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    config, scenario, log, futures, lock = dict(CONFIG), "", [], {}, threading.Lock()

    def log_message(self, *args):
        pass

    def promise(self, result):
        rid = f"request-{len(self.futures)}"
        self.futures[rid] = result
        return {"request_id": rid, "sample_sequence_ids": ["a", "b"]}

    def answer(self, path, body):
        name = path.removeprefix("/api/v1/").split("?")[0]
        model = f"{SESSION}:train:"
        match name:
            case "client/config":
                return self.config
            case "client/dynamic_config":
                return {"refresh_interval_sec": 300}
            case "auth/token":
                return {"jwt": JWT}
            case "create_session":
                return {"session_id": SESSION, "type": "create_session"}
            case "session_heartbeat":
                return {"type": "session_heartbeat"}
            case "create_model":
                return self.promise({"type": "create_model", "model_id": model + str(body["model_seq_id"])})
            case "get_info":
                return {"type": "get_info", "model_id": body["model_id"], "is_lora": True, "lora_rank": 8,
                        "model_name": "Qwen/Qwen3-0.6B", "model_data": {"model_name": "Qwen/Qwen3-0.6B"}}
            case "forward_backward":
                return self.promise(forward_result(body["datums"]))
            case "optim_step":
                return self.promise({"metrics": {"grad_norm": 0.5}})
            case "save_weights":
                return self.promise({"type": "save_weights", "path": f"tinker://{body['model_id']}/weights/{body['path']}"})
            case "save_weights_for_sampler":
                return self.promise({"path": f"tinker://{body['model_id']}/sampler_weights/{body['path']}"})
            case "load_weights":
                return self.promise({"type": "load_weights", "path": body["path"]})
            case "create_sampling_session":
                return {"type": "create_sampling_session", "sampling_session_id": f"{SESSION}:sample:{body['sampling_session_seq_id']}"}
            case "asample":
                return self.promise(sample_result(body["prompt_logprobs"]))
            case "weights_info":
                return {"base_model": "Qwen/Qwen3-0.6B", "is_lora": True, "lora_rank": 8, "train_unembed": False,
                        "train_mlp": True, "train_attn": True}
            case "get_server_capabilities":
                return {"supported_models": [{"model_name": "Qwen/Qwen3-0.6B", "max_context_length": 32768}]}
            case "retrieve_future":
                return self.futures[body["request_id"]]
        checkpoint = {"checkpoint_id": "weights/first", "checkpoint_type": "training", "time": "2026-01-02T03:04:05Z",
                      "tinker_path": f"tinker://{model}0/weights/first", "size_bytes": 10, "public": False, "expires_at": None}
        run = {"training_run_id": model + "0", "base_model": "Qwen/Qwen3-0.6B", "model_owner": "user", "is_lora": True, "lora_rank": 8,
               "last_request_time": "2026-01-02T03:04:05Z", "last_checkpoint": checkpoint, "user_metadata": {"run": "x"}}
        cursor = {"offset": 10, "limit": 5, "total_count": 11}
        if name == "training_runs":
            return {"training_runs": [run], "cursor": cursor}
        if name == f"training_runs/{model}0":
            return run
        if name == "checkpoints" or name.endswith("/checkpoints"):
            return {"checkpoints": [checkpoint], "cursor": cursor if name == "checkpoints" else None}
        if name.endswith("/archive"):
            return {"url": "https://storage/first.tar", "expires": "2026-01-02T03:04:05Z"}
        if name == "sessions":
            return {"sessions": [SESSION]}
        if name.startswith("sessions/"):
            return {"training_run_ids": [model + "0"], "sampler_ids": []}
        if name.startswith("samplers/"):
            return {"sampler_id": name.removeprefix("samplers/"), "base_model": "Qwen/Qwen3-0.6B", "model_path": None}
        return {}

    def handle_any(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        sent = {k: self.headers[k] for k in KEEP if self.headers.get(k)}
        line = {"scenario": self.scenario, "method": self.command, "path": self.path, "headers": sent}
        body = {}
        if "protobuf" in (self.headers.get("content-type") or ""):
            from tinker.proto import tinker_public_pb2 as pb
            if self.headers.get("content-encoding") == "zstd":
                raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            line["proto"] = raw.hex()
            body = {"datums": len(pb.ForwardBackwardRequest.FromString(raw).data)}
        elif raw:
            line["json"] = body = json.loads(raw)
        with self.lock:
            out = self.answer(self.path, body)
            if isinstance(out, bytes):
                kind, line["answer_proto"] = "application/x-protobuf", out.hex()
            else:
                kind, line["answer"] = "application/json", out
                out = json.dumps(out).encode()
            if self.path not in SKIP:
                self.log.append(line)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any


def wait(x):
    return x.result() if hasattr(x, "result") else x


def train(tinker, url):
    import numpy as np
    types = tinker.types
    service = tinker.ServiceClient(base_url=url, api_key="tml-key")
    tc = wait(service.create_lora_training_client("Qwen/Qwen3-0.6B", rank=8, seed=7, train_unembed=False, user_metadata={"run": "x"}))

    def datum(*tokens, **inputs):
        f = {k: np.array(v, dtype=np.float32) for k, v in inputs.items()}
        f["target_tokens"] = np.array(tokens[1:], dtype=np.int64)
        return types.Datum(model_input=types.ModelInput.from_ints(list(tokens[:-1])), loss_fn_inputs=f)

    data = [datum(1, 2, 3, logprobs=[-1, -2], advantages=[0.5, -0.5]),
            datum(4, 5, 6, 7, logprobs=[-1, -2, -3], advantages=[0.25, 0, 1]),
            datum(8, 9, 151935, logprobs=[-0.125, -2], advantages=[1, 1])]
    wait(tc.forward_backward(data, "ppo", {"clip_low_threshold": 0.8, "clip_high_threshold": 1.25}))
    wait(tc.optim_step(types.AdamParams(learning_rate=5e-4, beta2=0.99, grad_clip_norm=1.0)))
    two = types.Datum(model_input=types.ModelInput.from_ints([1, 2]), loss_fn_inputs={
        "target_tokens": np.array([[2, 5], [3, 6]], dtype=np.int64), "weights": np.array([[1, 0], [0.5, 0.5]], dtype=np.float32)})
    image = types.Datum(model_input=types.ModelInput(chunks=[
        types.EncodedTextChunk(tokens=[7, 8]), types.ImageChunk(data=b"xy", format="jpeg", expected_tokens=2)]),
        loss_fn_inputs={"target_tokens": np.array([1, 2, 3, 4], dtype=np.int64), "weights": np.ones(4, dtype=np.float32)})
    wait(tc.forward([two, image], "cross_entropy"))
    wait(tc.save_state("first", ttl_seconds=3600))
    wait(tc.save_state("first", overwrite=True))
    state = f"tinker://{SESSION}:train:0/weights/first"
    wait(tc.load_state(state))
    wait(tc.load_state_with_optimizer(state))
    wait(tc.save_weights_for_sampler("w1"))
    wait(tc.save_weights_for_sampler("w2", ttl_seconds=7200))
    return service, state


def sample(tinker, service):
    types = tinker.types
    wait(service.create_sampling_client(base_model="Qwen/Qwen3-0.6B"))
    sc = wait(service.create_sampling_client(model_path=f"tinker://{SESSION}:train:0/sampler_weights/w1"))
    prompt = types.ModelInput.from_ints([1, 2])
    wait(sc.sample(prompt, 2, types.SamplingParams(max_tokens=16, seed=2**63 + 1, temperature=0.7, top_k=5, top_p=0.9, stop=["\n", "é"])))
    wait(sc.sample(prompt, 2, types.SamplingParams(stop=[151645, 0]), include_prompt_logprobs=True, topk_prompt_logprobs=2))
    wait(sc.compute_logprobs(prompt))


def main():
    import tinker
    version = importlib.metadata.version("tinker")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    Server.scenario = "main"
    service, state = train(tinker, url)
    sample(tinker, service)
    Server.scenario = "rest"
    service = tinker.ServiceClient(base_url=url, api_key="tml-key")
    wait(service.get_server_capabilities())
    rest = service.create_rest_client()
    wait(rest.get_weights_info_by_tinker_path(state))
    run = f"{SESSION}:train:0"
    wait(rest.list_training_runs(limit=5, offset=10))
    wait(rest.get_training_run(run))
    wait(rest.list_checkpoints(run))
    wait(rest.list_user_checkpoints(limit=7))
    wait(rest.publish_checkpoint_from_tinker_path(state))
    wait(rest.unpublish_checkpoint_from_tinker_path(state))
    wait(rest.set_checkpoint_ttl_from_tinker_path(state, 3600))
    wait(rest.set_checkpoint_ttl_from_tinker_path(state, None))
    wait(rest.list_sessions())
    wait(rest.get_session(SESSION))
    wait(rest.delete_checkpoint_from_tinker_path(state))
    if hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):  # of earlier releases
        Server.scenario = "archive"
        wait(tinker.ServiceClient(base_url=url, api_key="tml-key").create_rest_client().get_checkpoint_archive_url_from_tinker_path(state))
    for flag in (False, True):
        Server.scenario = "from_state_by_load" if flag else "from_state"
        Server.config = dict(CONFIG, create_model_via_load_weights=flag)
        service = tinker.ServiceClient(base_url=url, api_key="tml-key")
        wait(service.create_training_client_from_state(state))
        tc = wait(service.create_training_client_from_state_with_optimizer(state))
        wait(tc.optim_step(tinker.types.AdamParams()))
    Server.scenario, Server.config = "jwt", dict(CONFIG, pjwt_auth_enabled=True, proto_compress_fwdbwd=False)
    service = tinker.ServiceClient(base_url=url, api_key="tml-key")
    wait(service.create_sampling_client(base_model="Qwen/Qwen3-0.6B"))
    for line in Server.log:
        print(json.dumps(line, ensure_ascii=False, sort_keys=True))
    print(f"recorded {len(Server.log)} requests of tinker {version}", file=sys.stderr)
    sys.stdout.flush()
    os._exit(0)


main()
