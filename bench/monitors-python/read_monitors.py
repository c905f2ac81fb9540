"""Reads the records of four jobs with the programs they are for and compares them with metrics.jsonl, number by number. Of Trackio and Weights &
Biases it also reads the samples, and compares them with rollouts/.

read_monitors.py WORK [KIND...]
"""
import glob
import http.server
import json
import math
import os
import subprocess
import sys
import threading

work, kinds = sys.argv[1], sys.argv[2:] or ["tensorboard", "mlflow", "wandb", "trackio"]


def lines(kind):
    with open(glob.glob(f"{work}/*/{kind}/metrics.jsonl")[0]) as f:
        return {line["step"]: line for line in map(json.loads, f)}


def compare(kind, found):
    """found: {step: {key: value}}, all roles together."""
    want = lines(kind)
    assert sorted(found) == sorted(want), (kind, sorted(found), sorted(want))
    n = 0
    for step, line in want.items():
        for key, value in line.items():
            if key == "step":
                continue
            got = found[step][key]
            assert math.isclose(got, value, rel_tol=1e-6), (kind, step, key, got, value)
            n += 1
    print(f"{kind}: {len(want)} steps, {n} numbers equal")


def tensorboard():
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = {}
    for role in glob.glob(f"{work}/*/tensorboard/monitor/tensorboard/*"):
        events = EventAccumulator(role)
        events.Reload()
        for key in events.Tags()["scalars"]:
            for e in events.Scalars(key):
                found.setdefault(e.step, {})[key] = e.value
    return found


def mlflow():
    from mlflow.tracking import MlflowClient

    client, found = MlflowClient("http://127.0.0.1:5151"), {}
    experiment = client.get_experiment_by_name("trinity-tiny")
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(r.info.run_name for r in runs) == ["mlflow_explorer", "mlflow_trainer"], runs
    for run in runs:
        assert run.info.status == "FINISHED" and run.data.params["algorithm.algorithm_type"] == "grpo", run
        for key in run.data.metrics:
            for m in client.get_metric_history(run.info.run_id, key):
                found.setdefault(m.step, {})[key.replace("_at_", "@")] = m.value
    return found


class Service(http.server.BaseHTTPRequestHandler):
    """Stands in for the service: it takes what the sync program sends and keeps the history."""

    history, files = [], {}

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer({})

    def do_PUT(self):
        Service.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw) if raw[:1] == b"{" else {}
        query, v = body.get("query", ""), body.get("variables", {})
        if "upsertBucket" in query:
            bucket = {"id": "b", "name": v["name"], "displayName": v["displayName"], "historyLineCount": 0, "sweepName": None,
                      "project": {"id": "p", "name": v["project"], "entity": {"id": "e", "name": "me"}}}
            self.answer({"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}})
        elif "createRunFiles" in query:
            to = [{"name": name, "uploadUrl": f"http://{self.headers['Host']}/upload/{name}"} for name in v["files"]]
            self.answer({"data": {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": to}}})
        elif self.path.endswith("file_stream"):
            Service.history += body.get("files", {}).get("wandb-history.jsonl", {}).get("content", [])
            self.answer({"exitcode": None, "limits": {}})
        else:
            self.answer({"data": {}})

    def answer(self, value):
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def wandb():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = dict(os.environ, WANDB_BASE_URL=f"http://127.0.0.1:{server.server_port}", WANDB_API_KEY="0" * 40)
    folders = glob.glob(f"{work}/*/wandb/monitor/wandb/*/offline-run-*")
    assert len(folders) == 2, folders
    for folder in folders:
        program = os.path.join(os.path.dirname(sys.executable), "wandb")
        subprocess.run([program, "sync", folder], env=env, check=False, timeout=120, capture_output=True)
    found = {}
    for line in map(json.loads, Service.history):
        found.setdefault(line["_step"], {}).update(line)
    for step, line in found.items():
        table = json.loads(Service.files["/upload/" + line["rollouts"]["path"]])
        same_samples("wandb", step, [(row[0], row[3], row[10]) for row in table["data"]])
    return found


def trackio():
    os.environ["TRACKIO_DIR"] = glob.glob(f"{work}/*/trackio/monitor/trackio")[0]
    from trackio.sqlite_storage import SQLiteStorage

    (project,) = SQLiteStorage.get_projects()
    assert SQLiteStorage.get_runs(project) == ["trackio_explorer", "trackio_trainer"]
    found = {}
    for run in SQLiteStorage.get_runs(project):
        for line in SQLiteStorage.get_logs(project, run):
            found.setdefault(line["step"], {}).update(line)
    for step in found:
        traces = SQLiteStorage.get_traces(project, run="trackio_explorer", step=step, search="answer")
        same_samples("trackio", step, [(t["metadata"]["id"], t["metadata"]["reward"], t["messages"][-1]["content"]) for t in traces])
    return found


def same_samples(kind, step, samples):
    with open(glob.glob(f"{work}/*/{kind}/rollouts/step_{step:06d}.jsonl")[0]) as f:
        records = {r["id"]: (r["reward"], r["response"]) for r in map(json.loads, f)}
    assert len({s[0] for s in samples}) == 16, (kind, step, len(samples))
    for id, reward, response in samples:
        assert records[id] == (reward, response), (kind, step, id, records[id], reward, response)


for kind in kinds:
    compare(kind, globals()[kind]())
