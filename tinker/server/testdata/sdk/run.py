"""Runs the unmodified Tinker SDK, the newest and 0.25, against `trinity serve`, and writes what works as a table.

    run.py --trinity bin/trinity --work DIR [--out docs/reference/sdk.md] [--page docs/reference/sdk.md] [--torch]

With --page it fails if that page lacks a method, a parameter or a kind of chunk of the newest SDK.
Virtual environments are made below DIR the first time and kept. The server's data are new each time.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from serving import Server  # noqa: E402

VERSIONS = [("newest", "tinker"), ("0.25.0", "tinker==0.25.0")]


def environment(work, label, requirement, torch):
    home = work / f"venv-{label}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", requirement], check=True)
    if torch:
        subprocess.run([python, "-m", "pip", "install", "-q", "torch"], check=True)
    return python


def methods(python, server):
    out = subprocess.run([python, HERE / "check.py", "methods"], env=server.env(), capture_output=True, text=True, timeout=900)
    lines = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    if out.returncode and not any("FAILED" in (x["sync"], x["async"]) for x in lines):
        sys.exit(out.stdout[-2000:] + out.stderr[-4000:])
    return lines


def cli(python, server, work):
    """The tinker command: run, checkpoint, session; as tables and as JSON."""
    tinker = python.parent / "tinker"
    lines = []

    def call(what, *args, fails=None):
        for fmt in ("table", "json"):
            p = subprocess.run([tinker, "-f", fmt, *args], env=server.env(), capture_output=True, text=True, timeout=120)
            text = " ".join((p.stdout + p.stderr).split())
            if fails:
                ok, kind = p.returncode != 0 and fails in text, "refused"
            else:
                ok, kind = p.returncode == 0, "works"
                if ok and fmt == "json" and p.stdout.strip() and args[0] != "auth":  # which always prints text
                    json.loads(p.stdout)
            if not ok:
                lines.append({"method": f"tinker -f {fmt} {what}", "sync": "FAILED", "async": "-", "note": text[:300]})
                return
        note = "" if not fails else text.split("not served by this server: ")[-1].split("'}")[0].strip("'\"}")[:200]
        lines.append({"method": f"tinker {what}", "sync": kind, "async": "-", "note": note})

    runs = json.loads(subprocess.run([tinker, "-f", "json", "run", "list"], env=server.env(), capture_output=True, text=True, check=True).stdout)["runs"]
    run = next(r["training_run_id"] for r in runs if r["last_sampler_checkpoint"] and r["last_checkpoint"])
    path = f"tinker://{run}/sampler_weights/first"
    version = subprocess.run([tinker, "version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    old = int(version.split(".")[1]) <= 25  # downloads samplers; newer ones download states
    call("run list", "run", "list", "--limit", "0")
    call("run info", "run", "info", run)
    call("checkpoint list", "checkpoint", "list", "--limit", "0")
    call("checkpoint list --run-id", "checkpoint", "list", "--run-id", run)
    call("checkpoint info", "checkpoint", "info", path)
    call("checkpoint publish", "checkpoint", "publish", path)
    call("checkpoint unpublish", "checkpoint", "unpublish", path)
    call("checkpoint set-ttl", "checkpoint", "set-ttl", path, "--ttl", "7200")
    call("checkpoint set-ttl --remove", "checkpoint", "set-ttl", path, "--remove")
    into = work / "download"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    call("checkpoint download", "checkpoint", "download", path if old else f"tinker://{run}/weights/first", "--output", str(into), "--force")
    files = {p.name for p in into.rglob("*")}
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        if name not in files:
            lines.append({"method": f"downloaded {name}", "sync": "FAILED", "async": "-", "note": str(sorted(files))})
    call("session export-trace", "session", "export-trace", run.split(":")[0], "--output", str(into / "trace.pftrace"))
    json.loads((into / "trace.pftrace").read_text())["traceEvents"]
    if not old:
        call("model list", "model", "list")
        call("model list SUBSTR", "model", "list", "TIN")
        call("model list, of no model", "model", "list", "gpt", fails="JWT")
        call("billing usage", "billing", "usage", "2026-01-01", "2026-01-02", fails="is not served by this server")
        call("billing checkpoint-storage", "billing", "checkpoint-storage", fails="is not served by this server")
        call("auth status", "auth", "status")
    call("checkpoint delete", "checkpoint", "delete", f"tinker://{run}/weights/first", "--yes")
    return [x for x in lines if not (x["method"] == "tinker -f json checkpoint delete" and "not found" in x["note"].lower())]


def train(python, server, kills, seed):
    """Trains for some steps, with the server killed in between, and returns every number that came out."""
    p = subprocess.Popen([python, HERE / "check.py", "train", "24"], env=server.env(), stdout=subprocess.PIPE, text=True)
    out, rng = [], random.Random(seed)
    when = sorted(rng.sample(range(2, 23), kills))
    for line in p.stdout:
        out.append(line)
        if when and len(out) == when[0]:
            when.pop(0)
            time.sleep(rng.random() * 0.05)
            server.stop(kill=True)
            server.start()
    if p.wait():
        sys.exit("training against a server that is killed failed: " + "".join(out))
    return "".join(out)


def rows(versions, tables):
    """The lines of the table: what came out alike for the same reason shares one. The older version has a column only in rows where it differs."""
    alike = {}
    for name in dict.fromkeys(n for t in tables for n in t):
        found = [t[name] for t in tables if name in t]
        note = brief(next((x["note"] for x in found if x["note"]), ""))
        here, *older = (verdict(t.get(name)) for t in tables)
        cell = here if all(o in (here, "-") for o in older) else f"{here}, {versions[1]}: {older[0]}"
        owner, method = re.fullmatch(r"(?:(\w+Client)\.|(?:(parameter|loss|optimizer|chunk|answer|tinker) ))?(.*)", name).expand(r"\1\2|\3").split("|")
        alike.setdefault((cell, note), {}).setdefault(owner, []).append(method)
    yield f"| tinker {versions[0]}, {versions[1]} | | |\n|---|---|---|"
    for (cell, note), owners in alike.items():
        names = "; ".join((f"{owner}: " if owner else "") + ", ".join(of) for owner, of in owners.items())
        yield f"| {names} | {cell} | {note} |"


def brief(note):
    """The reason of a refusal, without its particulars and remedy."""
    return re.split(r", but|: leave|; this|; send", note.replace("|", "/").removeprefix("Error: Unexpected error occurred: ").removeprefix("prompt: chunk 1 is "))[0]


def named(table):
    """The methods, by class, and all their parameters."""
    return set(table), sorted({p for x in table.values() for p in x.get("parameters", ())})


def lacking(page, table):
    """What the newest SDK has and the page does not say."""
    methods, parameters = named(table)
    said = set()
    for line in page.splitlines():
        for part in line.split("|")[1].split("; ") if line.startswith("| ") else ():
            owner, colon, names = part.strip().partition(": ")
            said |= {(owner if colon else "", n.strip()) for n in (names if colon else part).split(",")}
    words = {n for _, n in said}
    out = []
    for name in methods:
        owner, method = re.fullmatch(r"(?:(\w+Client)\.|(?:(chunk) ))?(.*)", name).expand(r"\1\2|\3").split("|")
        if owner and (owner, method) not in said:
            out.append(f"{owner}: {method}")
    return out + [f"parameter: {p}" for p in parameters if p not in words]


def verdict(x):
    if x is None:
        return "-"
    if x["async"] == "FAILED":
        return "FAILED"
    return x["sync"] if x["sync"] != "-" or x["async"] == "-" else x["async"]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--page", type=pathlib.Path, help="the page that must say everything that the newest SDK has")
    a.add_argument("--port", type=int, default=8137)
    a.add_argument("--torch", action="store_true", help="install torch too, for forward_backward_custom")
    a = a.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    tables, versions = [], []
    for label, requirement in VERSIONS:
        python = environment(a.work, label, requirement, a.torch)
        versions.append(subprocess.run([python, "-c", "import importlib.metadata as m; print(m.version('tinker'))"], capture_output=True, text=True, check=True).stdout.strip())
        data = a.work / f"data-{label}"
        shutil.rmtree(data, ignore_errors=True)
        shutil.rmtree(f"{data}-hub", ignore_errors=True)
        server = Server(a.trinity.resolve(), data, a.port)
        server.start()
        lines = methods(python, server)
        lines += cli(python, server, a.work)
        whole = train(python, server, 0, 0)
        losses = [float(line.split()[1]) for line in whole.splitlines()[:-1]]
        falls = losses[-1] < losses[0] / 2
        lines.append({"method": "a training loop", "sync": "works" if falls else "FAILED", "async": "-", "note": f"24 steps, the loss goes from {losses[0]:.1f} to {losses[-1]:.1f}"})
        broken = train(python, server, 3, 1)
        lines.append({"method": "the same, the server killed three times", "sync": "works" if broken == whole else "FAILED", "async": "-",
                      "note": "the same bits" if broken == whole else broken})
        server.stop()
        tables.append({x["method"]: x for x in lines})
    text = "\n".join(rows(versions, tables)) + "\n"
    text += f"| parameters: {','.join(named(tables[0])[1])} | works | |\n"
    failed = any(verdict(x) == "FAILED" for t in tables for x in t.values())
    print(text)
    if a.out:
        a.out.write_text(HEAD + text)
    if a.page and (left := lacking(a.page.read_text(), tables[0])):
        print(f"FAILED: {a.page} does not say what the newest SDK's {'; '.join(left)} does here: make bench NAME=sdk-torch writes it")
        failed = True
    sys.exit(1 if failed else 0)


HEAD = """# The Python SDK against `trinity serve`

`make bench NAME=sdk-torch` writes this page: the unmodified SDK calls every public method, and its `_async` twin, and uses every parameter, kind
of chunk, loss and optimizer (0.25.0: of those that it has). CI fails if the page lacks one. `get_console_url` names the hosted console; here it is `trinity studio`.

A sampler of kind `inflight` moves to newer weights between two tokens, also in answers under way. Each logprob comes from the weights that drew its token; keys
and values before it stay as older weights computed them. `versions`, a field that trinity adds to the answer, says from which token on which weights count.

"""


if __name__ == "__main__":
    main()
