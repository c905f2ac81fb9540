"""Opens the same run's curves in TensorBoard, Trackio and trinity studio, in turns, and says how long a person waits.

peers.py JOB TRINITY WORK: JOB has a metrics.jsonl, TRINITY is the program, WORK a folder for what the others read.
It asks each for what its own page asks for. Processor time is that of the server and its children.
"""
import json, os, re, subprocess, sys, time, urllib.request

JOB, TRINITY, WORK = sys.argv[1:4]
CURVE = "critic/rewards/mean"
TICK = os.sysconf("SC_CLK_TCK")


def steps():
    with open(os.path.join(JOB, "metrics.jsonl")) as f:
        for line in f:
            m = json.loads(line)
            yield m.pop("step"), m


def to_tensorboard(folder):
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    w = EventFileWriter(folder)
    for step, m in steps():
        values = [summary_pb2.Summary.Value(tag=k, simple_value=v) for k, v in m.items()]
        w.add_event(event_pb2.Event(step=step, wall_time=1.7e9 + step, summary=summary_pb2.Summary(value=values)))
    w.close()


def to_trackio():
    from trackio.sqlite_storage import SQLiteStorage

    all = list(steps())
    for i in range(0, len(all), 1000):
        part = all[i : i + 1000]
        SQLiteStorage.bulk_log("big", "big", [m for _, m in part], steps=[s for s, _ in part])


def processes(pid):
    yield pid
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                yield from processes(int(child))
    except OSError:
        pass


def used(pid):
    """Processor time in seconds, and memory at most in MB."""
    cpu = memory = 0
    for p in processes(pid):
        try:
            fields = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()
            cpu += (int(fields[11]) + int(fields[12])) / TICK
            memory += int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{p}/status").read())[1]) / 1e3
        except (OSError, TypeError):
            pass
    return cpu, memory


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=300) as r:
        return json.load(r)


def until(question, enough, limit=300):
    end = time.time() + limit
    while True:
        try:
            answer = question()
            if enough(answer):
                return answer
        except OSError:
            pass
        if time.time() > end:
            raise SystemExit("no answer in time")
        time.sleep(0.02)


def measure(name, command, question, enough, env=None):
    begun = time.time()
    p = subprocess.Popen(command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(question, enough)
        first = time.time() - begun
        cpu, memory = used(p.pid)
        begun = time.time()
        question()
        print(f"{name:12} {first:7.2f} s to the first curve ({cpu:.2f} s of processor time), {time.time() - begun:6.3f} s "
              f"the curve again, {memory:.0f} MB", flush=True)
    finally:
        for child in list(processes(p.pid))[::-1]:
            os.kill(child, 9)
        p.wait()


def main():
    os.makedirs(WORK, exist_ok=True)
    events, port = os.path.join(WORK, "events"), 18300
    os.environ["TRACKIO_DIR"] = os.path.join(WORK, "trackio")
    if not os.path.exists(events):
        begun = time.process_time()
        to_tensorboard(events)
        print(f"writing event files took {time.process_time() - begun:.1f} s")
    if not os.path.exists(os.environ["TRACKIO_DIR"]):
        begun = time.process_time()
        to_trackio()
        print(f"writing Trackio's database took {time.process_time() - begun:.1f} s")
    home = os.path.dirname(sys.executable)
    for turn in range(2):
        a, b, c = port + 3 * turn, port + 3 * turn + 1, port + 3 * turn + 2
        measure("TensorBoard", [os.path.join(home, "tensorboard"), "--logdir", events, "--port", str(a), "--samples_per_plugin", "scalars=10000"],
                lambda: ask(f"http://127.0.0.1:{a}/data/plugin/scalars/scalars?tag={CURVE}&run=."), lambda got: len(got) >= 10000)
        show = f"import trackio; trackio.show('big', open_browser=False, block_thread=True, server_port={b})"
        measure("Trackio", [sys.executable, "-c", show],
                lambda: ask(f"http://127.0.0.1:{b}/api/get_logs_batch", {"project": "big", "runs": [{"run": "big"}], "max_points": 3000}),
                lambda got: len(json.dumps(got)) > 10000, {"GRADIO_ANALYTICS_ENABLED": "False"})
        run = []

        def studio():
            if not run:
                run.extend(r["id"] for r in ask(f"http://127.0.0.1:{c}/api/runs")["runs"])
            return ask(f"http://127.0.0.1:{c}/api/runs/{run[0]}/metrics?name={CURVE}&points=2000") if run else {}

        measure("studio", [TRINITY, "studio", JOB, "--addr", f"127.0.0.1:{c}"], studio,
                lambda got: got and len(got["series"][CURVE]["step"]) > 100)


main()
