#!/usr/bin/env python3
"""Runs five jobs on the local engine, in both orders of sums, and prints a hash of what each one leaves: metrics.jsonl without the metrics of
the clock, and every adapter that it saved. One order gives the same bits on every processor. A change that must not change results gives bench/bits/bits.txt again. Needs bin/trinity (make build).

    bench/bits/bits.py [--binary bin/trinity] [--check bench/bits/bits.txt] [JOB ...]
"""
import argparse, hashlib, itertools, json, pathlib, subprocess, sys, tempfile

TIME = ("time/", "perf/", "timing_per_token_ms/")
TINY = "examples/tiny/"

# Each job is a list of processes that run side by side.
JOBS = {
    "gsm8k": [["run", "--config", TINY + "gsm8k.yaml"]],
    "gsm8k_off1": [["run", "--config", TINY + "gsm8k_off1.yaml", "buffer.total_steps=15"]],
    "ppo": [["run", "--config", TINY + "algorithms/ppo.yaml", "buffer.total_steps=20", "explorer.eval_interval=10"]],
    "gem": [["gem", "--config", TINY + "guess/easy.yaml", "max_steps=8", "eval_every=4", "eval_episodes=64", "save_every=3"]],
    "apart": [["run", "--config", TINY + "gsm8k_off1.yaml", "buffer.total_steps=10", "buffer.train_batch_size=128", "mode=" + mode] for mode in ("train", "explore")],
}


def digest(folder, paths, content):
    h = hashlib.sha256()
    for p in sorted(paths):
        h.update(content(folder / p))
    return h.hexdigest()[:32]


def timeless(path):
    """The lines without what measures the clock."""
    out = []
    for line in path.read_text().splitlines():
        d = json.loads(line)
        kept = {k: v for k, v in d.items() if not any(k.startswith(t) or "/" + t in k for t in TIME) and k != "crc"}
        out.append(json.dumps(kept, sort_keys=True))
    return "\n".join(out).encode()


def run(binary, job, order, folder):
    where = [f"output_dir={folder}"] if job == "gem" else [f"checkpoint_root_dir={folder}"]
    processes = [subprocess.Popen([binary, args[0], "--order", order, *args[1:], *where], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for args in JOBS[job]]
    for p in processes:
        out, _ = p.communicate()
        if p.returncode != 0:
            sys.exit(f"{job}: exit {p.returncode}\n{out.decode()[-4000:]}")
    metrics = [p.relative_to(folder) for p in folder.rglob("metrics.jsonl")]
    adapters = [p.relative_to(folder) for p in folder.rglob("adapter_model.safetensors")]
    steps = sum(len((folder / m).read_text().splitlines()) for m in metrics)
    if not metrics or not adapters:
        sys.exit(f"{job}: {len(metrics)} files of metrics and {len(adapters)} adapters; both must be there")
    return f"{job:<12} {order:<12} metrics {digest(folder, metrics, timeless)} of {steps:>3} lines   adapters {digest(folder, adapters, pathlib.Path.read_bytes)} of {len(adapters):>2} files"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bin/trinity")
    parser.add_argument("--check", help="a log whose lines must come again")
    parser.add_argument("jobs", nargs="*", default=list(JOBS), metavar="JOB")
    args = parser.parse_args()
    want = pathlib.Path(args.check).read_text().splitlines() if args.check else []
    differ = []
    for job, order in itertools.product(args.jobs, ("blocked", "sequential")):
        with tempfile.TemporaryDirectory() as folder:
            line = run(args.binary, job, order, pathlib.Path(folder))
        print(line, flush=True)
        if args.check and line not in want:
            differ.append(f"{job} {order}")
    if differ:
        sys.exit("other bits than in " + args.check + ": " + ", ".join(differ))


main()
