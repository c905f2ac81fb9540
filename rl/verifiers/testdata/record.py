"""Records what an env server of verifiers sends: python record.py HOST.PY DIR ID OUT. Needs the package verifiers.

A line of OUT is {"run": name, "frames": [base64, …]} in the order in which they came, without the id of the request.
"""

import base64
import json
import os
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgpack
import verifiers
import zmq

host, folder, name, out = sys.argv[1:]


class Model(BaseHTTPRequestHandler):
    """Answers every conversation alike, or fails below /broken."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": "2+2 is four. <answer>4</answer>"}
        body = {"id": "c1", "object": "chat.completion", "created": 1, "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}
        status = 200
        if "/broken/" in self.path:
            status, body = 400, {"error": {"message": "the rollout has no tokens left", "code": "rollout_tokens_spent"}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
settings = {"id": name, "taskset": {}, "config": {}, "workers": 1, "folders": [folder]}
server = subprocess.Popen([sys.executable, "-c", open(host).read(), json.dumps(settings)], stdout=subprocess.PIPE,
                          text=True)
address = next(line.split()[-1] for line in server.stdout if line.startswith("trinity: address"))
dealer = zmq.Context.instance().socket(zmq.DEALER)
dealer.connect(address)


def without_paths(data):
    """Hides where this Python is, in as many bytes."""
    for place in (sys.prefix, sys.base_prefix, os.path.expanduser("~")):
        data = data.replace(place.encode(), b"/python".ljust(len(place), b"/"))
    return data


def client(path):
    url = f"http://127.0.0.1:{model.server_address[1]}{path}/v1"
    return {"type": "eval", "base_url": url, "api_key_var": "TRINITY_API_KEY", "headers": {}}


task = {"idx": 0, "prompt": "2+2?", "system_prompt": "Think, then answer.", "answer": "4"}
run = {"task_data": task, "model": "policy", "sampling": {"temperature": 1.0, "max_tokens": 50}}
with open(out, "w") as f:
    print(json.dumps({"verifiers": verifiers.__version__, "environment": name}), file=f)
    for what, method, body in [("health", b"health", {}), ("solved", b"run", {**run, "client": client("")}),
                               ("broken", b"run", {**run, "client": client("/broken")}),
                               ("wrong task", b"run", {**run, "task_data": {"idx": "x"}, "client": client("")}),
                               ("unknown", b"dance", {}), ("cancel", b"cancel", {"request_id": "none"})]:
        request = uuid.uuid4().hex.encode()
        dealer.send_multipart([request, method, msgpack.packb(body)])
        while True:
            got, *frames = dealer.recv_multipart()
            assert got == request, got
            coded = [base64.b64encode(without_paths(x)).decode() for x in frames]
            print(json.dumps({"run": what, "frames": coded}), file=f, flush=True)
            if frames[0] != b"delta":
                break
server.terminate()
server.wait()
