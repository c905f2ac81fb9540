"""Runs `trinity run` against servers of others, with either side killed on the way, and writes what happened as a table.

    run.py --trinity bin/trinity --model examples/tiny/model --work DIR [--out docs/results/foreign.log] [--python PYTHON] [--record FILE]

The Python environment is made below DIR the first time and kept (about 7 GB: SkyRL asks for a torch with CUDA).
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import record
import servers

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE.parents[3] / "examples" / "tiny" / "gsm8k.yaml"


STYLES = {"fixed": [], "fully_async": ["synchronizer.sync_style=fully_async", "explorer.max_inflight_batches=2"]}


class Job:
    """A `trinity run` in a folder of its own, started as often as it takes."""

    def __init__(self, trinity, folder, server, model, steps, save, style):
        shutil.rmtree(folder, ignore_errors=True)
        self.folder, self.steps, self.save, self.process, self.lines = folder, steps, save, None, []
        self.command = [trinity, "run", "--config", CONFIG, f"checkpoint_root_dir={folder}", f"model.tinker.base_url={server.url}", f"model.tinker.base_model={model}",
                        "buffer.batch_size=4", "algorithm.repeat_times=4", f"buffer.total_steps={steps}", f"trainer.total_steps={steps}", f"trainer.save_interval={save}",
                        "model.max_response_tokens=16", "explorer.eval_on_startup=false", "buffer.explorer_input.eval_tasksets=[]", *STYLES[style]]

    def start(self):
        self.process = subprocess.Popen(self.command, env={**os.environ, "TINKER_API_KEY": servers.KEY}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def follow(self, until):
        """Reads what the run says up to the line of a step, or to its end."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            m = re.match(r"step +(\d+)/", line)
            if m and int(m[1]) >= until:
                return

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def finish(self):
        self.follow(1 << 30)
        return self.process.wait()

    def metrics(self):
        path = next(self.folder.glob("*/*/metrics.jsonl"), None)
        return [] if path is None else [json.loads(line) for line in path.read_text().splitlines()]

    def facts(self, trained):
        """The metrics that measure no time, without those of training where the server's states hold no weights."""
        leave = r"time|timing|perf/|train/kl" + ("" if trained else r"|actor/|grad_norm|update_norm|loss:|step:")
        return [{k: v for k, v in m.items() if not re.match(leave, k) and "time/" not in k} for m in self.metrics()]

    def complete(self):
        """Each step is in the metrics once, in order, and the last one is saved."""
        meta = json.loads(next(self.folder.glob("*/*/trainer_meta.json")).read_text())
        return [m.get("step") for m in self.metrics()] == list(range(1, self.steps + 1)) and meta["latest_iteration"] == meta["latest_saved"] == self.steps

    def rewards(self):
        r = [m["critic/rewards/mean"] for m in self.metrics()]
        k = max(1, len(r) // 4)
        return f"reward {sum(r[:k]) / k:.2f} → {sum(r[-k:]) / k:.2f}"


def difference(killed, whole):
    for k, w in zip(killed, whole):
        other = [x for x in w if k.get(x) != w[x]]
        if other:
            most = max(abs(k.get(x, 0) - w[x]) / max(abs(w[x]), 1e-12) for x in other)
            return f"other at step {w['step']} ({', '.join(other)}; by {most:.0e} of their size at most) than in"
    return "as in"


def both(server, job):
    job.kill()
    server.kill()
    server.start()
    job.start()


def client(server, job):
    job.kill()
    job.start()


def only(server, job):
    server.kill()
    server.start()


KILLS = {"nothing": (None, []), "trinity run": (client, None), "the server": (only, None), "both": (both, None)}


def scenario(server, job, what, at):
    kill = KILLS[what][0]
    server.start()
    job.start()
    for step in at:
        job.follow(step)
        if job.process.poll() is None:
            time.sleep(0.05)
            kill(server, job)
    code = job.finish()
    server.kill()
    said = [line for line in job.lines if "no longer knows session" in line or "no room" in line]
    back = sum("the run goes back" in line or "the run begins again" in line for line in job.lines)
    resumed = sum(line.startswith("resume ") for line in job.lines)
    if code == 0 and job.complete():
        notes = [f"all {job.steps} steps, each once", job.rewards()]
        if resumed:
            notes.append(f"resumed {resumed} times, {back} of them by itself")
        if said:
            notes.append(f"{sum('no room' in x for x in said)} models unloaded, {sum('session' in x for x in said)} sessions opened anew")
        return True, "; ".join(notes)
    return False, (job.lines or ["it said nothing"])[-1]


def main():
    a = argparse.ArgumentParser()
    for name in ("--trinity", "--model", "--work"):
        a.add_argument(name, type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--record", type=pathlib.Path)
    a.add_argument("--python")
    a.add_argument("--only", default="", help="servers whose name has this")
    a.add_argument("--port", type=int, default=8320)
    a = a.parse_args()
    work = a.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = servers.environment(work / "venv", a.python or servers.base_python())
    model = work / "model"  # SkyRL's adapters become NaN in bf16 on the CPU
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(a.model, model)
    config = model / "config.json"
    config.write_text(config.read_text().replace('"bfloat16"', '"float32"'))
    trinity = a.trinity.resolve()
    skyrl = lambda home: servers.SkyRL(python, home, a.port, model)
    tuft = lambda persistence: lambda home: servers.TuFT(python, home, a.port, model, persistence)
    make = [
        ("trinity serve", lambda home: servers.Trinity(trinity, home, a.port, a.model.resolve()), "fixed", 24, 3, (6, 12, 18), (), True),
        ("SkyRL", skyrl, "fixed", 5, 2, (1, 2, 3, 4), (3,), True),
        ("SkyRL, fully_async", skyrl, "fully_async", 5, 2, (1, 2, 3, 4), (3,), True),
        ("TuFT, FILE", tuft("FILE"), "fixed", 40, 4, (5, 15, 30), (5, 20), True),
        ("TuFT, FILE, fully_async", tuft("FILE"), "fully_async", 40, 4, (5, 11, 15, 22, 30, 37), (5, 20), True),
        ("TuFT, off", tuft(""), "fixed", 60, 5, (10, 25, 45), (10,), False),
    ]
    rows, failed, recorded = [("server", "version", "sync_style", "killed (-9)", "behind steps", "what happened")], False, {}
    for key, build, style, steps, save, often, some, survives in make:
        if a.only not in key:
            continue
        some = some or often
        for what, at in (("nothing", ()), ("trinity run", often), ("the server", some), ("both", some)):
            server = build(work / "server")
            began, job = time.monotonic(), Job(trinity, work / "job", server, server.model, steps, save, style)
            good, said = scenario(server, job, what, at)
            if what == "nothing":
                whole = job.facts(server.trains)
            elif good:
                said += f"; metrics {'' if server.trains else 'of rollouts '}{difference(job.facts(server.trains), whole)} the run that was not killed"
            wanted = survives or what in ("nothing", "trinity run")
            if not wanted and not good:
                good, said = "start the server with its old data" in said, "ends with: " + said
            failed |= not good
            rows.append((server.name, server.version, style, what, ", ".join(map(str, at)) or "–", ("" if good else "FAILED: ") + said.replace(str(work), "DIR")))
            print(f"{server.name}, {style}, {what}: {time.monotonic() - began:.0f} s: {rows[-1][-1]}", file=sys.stderr, flush=True)
        server = build(work / "server")
        if a.record and server.name != "trinity serve":
            server.start()
            recorded[f"{server.name}, {server.version}"] = record.record(server, isinstance(server, servers.SkyRL))
    if a.record:
        a.record.write_text(json.dumps(recorded, indent=1).replace(str(work), "DIR") + "\n")
    rows.insert(1, ("---",) * len(rows[0]))
    text = "".join("| " + " | ".join(r) + " |\n" for r in rows)
    print(text, end="")
    if a.out:
        a.out.write_text("`make bench NAME=foreign`: the example's configuration with 4 tasks × 4 samples a step, on servers whose data stay through a kill.\n\n" + text)
    sys.exit(failed)


main()
