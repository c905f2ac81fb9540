"""Runs plug-in files that exist, unmodified, for two steps on the shipped model, and lists what came of each.

    run.py --trinity bin/trinity --python PYTHON --work FOLDER --out FILE
           [--package trinity-rft==0.6.0]... [--public BASE] [--resume] [FOLDER]...

A package is fetched by pip and its files of cases.json are copied into a plug-in folder, one at a time; those that
cases.json calls dotted have neighbours, and are used where they are. The repositories of public.json are fetched by git
from BASE/OWNER/NAME, at the commits that it names. Of a folder, and of the folders below it, each file that registers
something is run where it lies, by every name that it registers; if the folder lies in a package trinity, as in a fork of
upstream, that package is on PYTHONPATH. The JSON files give a name its overrides, the columns that its rows have besides
the usual ones, and what it needs that not every machine has. For FOLDER that is set.json in it. FILE is written after each
part; with --resume the parts that it has are not run again. Nothing of the files is kept in this project.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, *[".."] * 4))
KINDS = {"WORKFLOWS": "workflow", "REWARD_FUNCTIONS": "reward", "EXPERIENCE_OPERATORS": "operator", "READER": "reader"}
REGISTERS = re.compile(r"\b(%s)\s*\.\s*register_module\(\s*(?:module_name\s*=\s*|name\s*=\s*)?[\"']([^\"']+)[\"']"
                       % "|".join(KINDS))
SMALL = ["seed=1", "buffer.batch_size=2", "algorithm.repeat_times=2", "buffer.total_steps=2", "trainer.total_steps=2",
         "model.max_response_tokens=24", "model.max_prompt_tokens=900", "explorer.eval_on_startup=false",
         "buffer.explorer_input.eval_tasksets=[]", "explorer.eval_interval=100", "explorer.max_retry_times=0",
         "buffer.explorer_input.taskset.default_reward_fn_type=math_reward"]


def main():
    p = argparse.ArgumentParser()
    for name in ("trinity", "python", "work", "out"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--package", action="append", default=[])
    p.add_argument("--public")
    p.add_argument("--timeout", type=int, default=240, help="seconds for one part")
    p.add_argument("--resume", action="store_true", help="keep the results that FILE has")
    p.add_argument("folders", nargs="*")
    a = p.parse_args()
    a.trinity, a.work, a.out = os.path.abspath(a.trinity), os.path.abspath(a.work), os.path.abspath(a.out)
    if os.path.dirname(a.python):
        a.python = os.path.abspath(a.python)  # no realpath: the Python of a virtual environment is a link
    shutil.rmtree(a.work, ignore_errors=True)
    os.makedirs(os.path.join(a.work, "cwd"))  # files leave folders of their own where they run
    os.symlink(os.path.join(ROOT, "examples"), os.path.join(a.work, "cwd", "examples"))
    long_model(os.path.join(a.work, "cwd", "long"))

    a.version = subprocess.run([a.python, "--version"], text=True, capture_output=True, check=True).stdout.strip()
    a.done, a.known = [], known(a.out) if a.resume else {}
    if a.public:
        for source in read_json(os.path.join(HERE, "public.json"), []):
            of_public(a, source)
    for folder in a.folders:
        folder = os.path.abspath(folder)
        of_folder(a, folder, os.path.basename(folder), read_json(os.path.join(folder, "set.json"), {}))
    for package in a.package:
        of_package(a, package)
    report(a, "")


def long_model(folder):
    """The shipped model that chats, with a context for long prompts. Its positions are rotations, so any length computes."""
    shutil.copytree(os.path.join(ROOT, "examples/tiny/guess/model"), folder)
    with open(os.path.join(folder, "config.json"), "r+") as f:
        config = {**json.load(f), "max_position_embeddings": 8192}
        f.seek(0)
        json.dump(config, f)
        f.truncate()


def known(path):
    """The results that a log has, by file and name."""
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = [re.split(r"  +", line.rstrip("\n"), maxsplit=2) for line in f if line.strip() and line[0] != "#"]
    return {(source, name): result for source, name, result in rows}


def part(a, source, name, *args):
    """Runs a part, if its result is not known, and writes the log so far."""
    if (source, name) not in a.known:
        a.known[source, name] = run(a, *args)
    a.done.append((source, name, a.known[source, name]))
    print(*a.done[-1], sep="  ", flush=True)
    report(a, "an unfinished run: ")


def of_package(a, package):
    target = os.path.join(a.work, package.replace("==", "-"))
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, package], check=True)
    for i, case in enumerate(read_json(os.path.join(HERE, "cases.json"), [])):
        source = os.path.join(target, case["file"])
        if not os.path.exists(source):
            continue
        folder = os.path.join(a.work, f"{package}-{i}")
        os.makedirs(folder)
        if case.get("dotted"):
            name = case["file"].removesuffix(".py").replace("/", ".") + "." + case["class"]
        else:
            name = "upstream_case"
            shutil.copy(source, os.path.join(folder, f"upstream_{i}.py"))
            register(folder, case["kind"], name, f"trinity.plugins.upstream_{i}", case["class"])
        part(a, f"{package} {case['file']}", case["class"], folder, case["kind"], name, case, target)


def register(folder, kind, name, module, cls):
    """A plug-in file that registers a class of another."""
    registry, place = {"workflow": ("WORKFLOWS", "trinity.common.workflows"),
                       "reward": ("REWARD_FUNCTIONS", "trinity.common.rewards"),
                       "operator": ("EXPERIENCE_OPERATORS", "trinity.buffer.operators")}[kind]
    with open(os.path.join(folder, "zz_names.py"), "w") as f:
        f.write(f"from {place} import {registry}\nfrom {module} import {cls}\n\n"
                f"{registry}.register_module('{name}', {cls})\n")


def of_public(a, source):
    """A folder or a file of a repository, with the package trinity of a fork beside it where its files import that."""
    checkout = os.path.join(a.work, "public", source["repository"], source["commit"])
    repository = f"{a.public}/{source['repository']}"
    os.makedirs(checkout, exist_ok=True)
    if not os.path.isdir(repository):
        subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
        subprocess.run(["git", "fetch", "-q", "--depth", "1", repository, source["commit"]], cwd=checkout, check=True)
        repository = checkout
    wanted = [f"{source['folder']}/{name}" for name in source.get("files", [])] or [source["folder"]]
    if wanted == [source["folder"]] and source["folder"].startswith("trinity/"):
        wanted = ["trinity"]
    git = subprocess.run(["git", "archive", source["commit"], *wanted], cwd=repository, check=True, capture_output=True)
    subprocess.run(["tar", "x"], cwd=checkout, input=git.stdout, check=True)
    place = os.path.join(checkout, source["folder"])
    if "files" in source:  # among others, that are not meant
        place = os.path.join(a.work, "public", source["title"])
        os.makedirs(place)
        for name in source["files"]:
            shutil.copy(os.path.join(checkout, source["folder"], name), place)
    for name, (module, cls) in source.get("register", {}).items():
        register(place, "workflow", name, f"trinity.plugins.{module}", cls)
    of_folder(a, place, f"{source['repository']} {source['title']}", source.get("names", {}))


def of_folder(a, folder, title, names):
    for at, below, files in os.walk(folder):
        below[:] = sorted(b for b in below if not b.startswith((".", "__")))
        for name in sorted(n for n in files if n.endswith(".py")):
            with open(os.path.join(at, name), encoding="utf-8") as f:
                found = REGISTERS.findall(f.read())
            for registry, registered in dict.fromkeys(found):
                case = names.get(registered, names.get("*", {}))
                part(a, os.path.join(title, os.path.relpath(os.path.join(at, name), folder)), registered, at,
                     KINDS[registry], registered, case, fork(at))


def fork(folder):
    """The folder that has the package trinity in which a folder lies, if it lies in one."""
    while os.path.dirname(folder) != folder:
        if os.path.basename(folder) == "trinity" and os.path.exists(os.path.join(folder, "__init__.py")):
            return os.path.dirname(folder)
        folder = os.path.dirname(folder)
    return None


def run(a, folder, kind, name, case, package):
    """Runs two steps and says how they went."""
    jobs, data = os.path.join(a.work, "jobs"), os.path.join(a.work, "data")
    for old in (jobs, data):
        shutil.rmtree(old, ignore_errors=True)
    write_rows(data, case.get("row", {}))
    env = dict(os.environ, TRINITY_CHECKPOINT_ROOT_DIR=jobs)
    if package:
        env["PYTHONPATH"] = package
    command = [a.trinity, "run", "--config", "examples/tiny/gsm8k.yaml", "--plugin-dir", folder, "--plugin-dir",
               os.path.join(HERE, "beside"), "--python", a.python, *SMALL, *settings(kind, name, case, data)]
    try:
        p = subprocess.run(command, env=env, cwd=os.path.join(a.work, "cwd"), text=True, capture_output=True, timeout=a.timeout)
    except subprocess.TimeoutExpired:
        return failed(case, f"no end within {a.timeout} s")
    text = p.stdout + p.stderr
    if p.returncode == 0:
        return "runs, " + gap(jobs, case, text)
    lines = [line for line in text.splitlines() if "failed and is left out" in line or "not loaded" in line]
    lines = lines or [line for line in text.splitlines() if line.startswith("trinity:")] or text.splitlines()[-1:]
    error = re.sub(r"^.*?left out: ", "", lines[0])
    for path in (folder, a.work, ROOT):
        error = error.replace(path, "")
    return failed(case, error[:260])


def failed(case, error):
    return f"needs {case['needs']}: {error}" if "needs" in case else f"fails: {error}"


def settings(kind, name, case, data):
    """The overrides of a case. One that evaluates runs beside a training of the native workflow."""
    taskset = "buffer.explorer_input.taskset."
    if case.get("evaluates"):
        return [f"{taskset}path={data}", f"{taskset}default_workflow_type=math_workflow", "explorer.eval_on_startup=true",
                f"buffer.explorer_input.eval_tasksets=[{{name: evaluated, path: {data}, default_workflow_type: {name}, "
                "format: {prompt_key: question, response_key: answer}}]", *case.get("set", [])]
    choose = {"workflow": f"{taskset}default_workflow_type={name}",
              "reward": f"{taskset}default_reward_fn_type={name}",
              "operator": "data_processor.experience_pipeline.operators=[{name: %s}]" % name,
              "reader": f"{taskset}storage_type={name}"}[kind]
    return [f"{taskset}path={data}", choose, *case.get("set", [])]


def gap(jobs, case, text):
    """The first step's gap between sampler and trainer (later steps may train what an earlier one left), or why there
    is none."""
    if case.get("evaluates"):
        return "evaluates, trains nothing"
    steps = []
    for root, _, names in os.walk(jobs):
        if "metrics.jsonl" in names:
            with open(os.path.join(root, "metrics.jsonl")) as f:
                steps = [json.loads(line) for line in f]
    for step in steps:
        if "train/kl_sample_train_v1" in step:
            return f"gap {step['train/kl_sample_train_v1']}"
    why = re.search(r"nothing is left to train on: (.*)|(the prompt of row \d+ is longer .*)", text)
    return "trains nothing: " + (case.get("untrained") or why and (why[1] or why[2]) or "no experience has an action")


def write_rows(folder, more):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "train.jsonl"), "w") as f:
        f.writelines(json.dumps({**r, **more}) + "\n" for r in rows())


def rows():
    """Rows with the columns that shipped workflows read, and those of the example."""
    puzzle = [[0 if (r * 3 + r // 3 + c) % 2 else (r * 3 + r // 3 + c) % 9 + 1 for c in range(9)] for r in range(9)]
    solution = [[(r * 3 + r // 3 + c) % 9 + 1 for c in range(9)] for r in range(9)]
    turns = [{"from": "human", "value": "Add 2 and 3."}]
    tools = [{"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}]
    rubric = [{"description": "The answer is a number.", "weight": 1.0}]
    for i in range(8):
        yield {"question": f"Ann has {i + 2} nuts and Bob brings 3 more. How many nuts are there?",
               "answer": f"That is {i + 2} + 3 = {i + 5}.\n#### {i + 5}", "size": 4, "p": 0.8, "seed": i, "index": i,
               "puzzle": puzzle, "solution": solution, "raw_system": "You add.", "tools": tools,
               "conversations": turns, "rubric": rubric, "task_id": str(i),
               "messages": [{"role": "user", "content": f"What is {i} + 1?"}], "prompt": f"Say {i}.", "response": str(i),
               "remaining_chat": "", "info_truth": "", "decision_truth": "continue"}


def read_json(path, default):
    if not os.path.exists(path):
        return default
    with open(path) as f:
        return json.load(f)


def report(a, unfinished):
    counts = {}
    for _, _, result in a.done:
        word = re.split(r"[ ,:]", result)[0]
        counts[word] = counts.get(word, 0) + 1
    with open(a.out, "w") as f:
        f.write(f"# bench/plugins: {a.version}, {' and '.join(a.package)}{', public.json' if a.public else ''}\n"
                f"# {unfinished}{len(a.done)} parts of {len({s for s, _, _ in a.done})} files: "
                + ", ".join(f"{n} {what}" for what, n in sorted(counts.items(), key=lambda c: -c[1]))
                + f"; {len({s for s, _, r in a.done if r.startswith('runs')})} files run\n\n")
        wide = [max(len(row[k]) for row in a.done) for k in (0, 1)]
        for source, name, result in a.done:
            f.write(f"{source:{wide[0]}}  {name:{wide[1]}}  {result}\n")


if __name__ == "__main__":
    main()
