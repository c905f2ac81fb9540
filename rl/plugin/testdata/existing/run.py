"""Runs plug-in files that exist, unmodified, for two steps on the shipped model, and lists what came of each.

    run.py --trinity bin/trinity --python PYTHON --work FOLDER --out FILE [--package trinity-rft==0.6.0]... [FOLDER]...

A package is fetched by pip and its files of cases.json are copied into a plug-in folder, one at a time; those that cases.json
calls dotted have neighbours, and are used where they are. Their rows have the columns of "row". Of a folder, each
file that registers something is run, by every name that it registers; set.json beside them may have the overrides that a
name needs, such as the columns of its rows. Nothing of them is kept in this project.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
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
    p.add_argument("folders", nargs="*")
    a = p.parse_args()
    a.work = os.path.abspath(a.work)
    shutil.rmtree(a.work, ignore_errors=True)
    os.makedirs(os.path.join(a.work, "data"))

    write_rows(os.path.join(a.work, "data"), {})
    done = []
    for package in a.package:
        done += of_package(a, package)
    for folder in a.folders:
        done += of_folder(a, os.path.abspath(folder))
    report(a, done)

def write_rows(folder, more):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "train.jsonl"), "w") as f:
        f.writelines(json.dumps({**r, **more}) + "\n" for r in rows())

def of_package(a, package):
    target = os.path.join(a.work, package.replace("==", "-"))
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, package], check=True)
    with open(os.path.join(HERE, "cases.json")) as f:
        cases = json.load(f)
    done = []
    for i, case in enumerate(cases):
        source = os.path.join(target, case["file"])
        if not os.path.exists(source):
            continue
        folder = os.path.join(a.work, f"{package}-{i}")
        write_rows(os.path.join(folder, "data"), case.get("row", {}))
        if case.get("dotted"):
            name = case["file"].removesuffix(".py").replace("/", ".") + "." + case["class"]
            done.append((f"{package} {case['file']}", case["class"],
                         run(a, folder, case["kind"], name, settings(a, case, folder), target)))
            print(*done[-1], sep="  ", flush=True)
            continue
        shutil.copy(source, os.path.join(folder, f"upstream_{i}.py"))
        registry, place = {"workflow": ("WORKFLOWS", "trinity.common.workflows"),
                           "reward": ("REWARD_FUNCTIONS", "trinity.common.rewards"),
                           "operator": ("EXPERIENCE_OPERATORS", "trinity.buffer.operators")}[case["kind"]]
        with open(os.path.join(folder, "zz_names.py"), "w") as f:
            f.write(f"from {place} import {registry}\nfrom trinity.plugins.upstream_{i} import {case['class']}\n\n"
                    f"{registry}.register_module('upstream_case', {case['class']})\n")
        done.append((f"{package} {case['file']}", case["class"],
                     run(a, folder, case["kind"], "upstream_case", settings(a, case, folder), target)))
        print(*done[-1], sep="  ", flush=True)
    return done

def settings(a, case, folder):
    """The overrides of a case. One that evaluates runs beside a training of the native workflow."""
    if not case.get("evaluates"):
        return [f"buffer.explorer_input.taskset.path={folder}/data", *case.get("set", [])]
    return ["buffer.explorer_input.taskset.default_workflow_type=math_workflow", "explorer.eval_on_startup=true",
            f"buffer.explorer_input.eval_tasksets=[{{name: evaluated, path: {a.work}/data, default_workflow_type: "
            "upstream_case, format: {prompt_key: question, response_key: answer}}]"]


def of_folder(a, folder):
    done = []
    extra = {}
    if os.path.exists(os.path.join(folder, "set.json")):
        with open(os.path.join(folder, "set.json")) as f:
            extra = json.load(f)
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".py")):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            found = REGISTERS.findall(f.read())
        for registry, registered in found:
            done.append((f"{os.path.basename(folder)}/{name}", registered,
                         run(a, folder, KINDS[registry], registered, extra.get(registered, []), None)))
            print(*done[-1], sep="  ", flush=True)
    return done

def run(a, folder, kind, name, more, package):
    """Runs two steps and says how they went."""
    taskset = "buffer.explorer_input.taskset."
    choose = {"workflow": [f"{taskset}default_workflow_type={name}"],
              "reward": [f"{taskset}default_reward_fn_type={name}"],
              "operator": ["data_processor.experience_pipeline.operators=[{name: %s}]" % name],
              "reader": [f"{taskset}storage_type={name}"]}[kind]
    env = dict(os.environ, TRINITY_CHECKPOINT_ROOT_DIR=os.path.join(a.work, "jobs", name))
    shutil.rmtree(os.path.join(a.work, "jobs"), ignore_errors=True)
    if package:
        env["PYTHONPATH"] = package
    command = [a.trinity, "run", "--config", "examples/tiny/gsm8k.yaml", "--plugin-dir", folder, "--python", a.python,
               *SMALL, f"{taskset}path={a.work}/data", *choose, *more]
    try:
        p = subprocess.run(command, env=env, text=True, capture_output=True, timeout=240)
    except subprocess.TimeoutExpired:
        return "fails: no end within 240 s"
    text = p.stdout + p.stderr
    if p.returncode == 0:
        return f"runs, gap {gap(env)}"
    lines = [line for line in text.splitlines() if "failed and is left out" in line or "not loaded" in line]
    lines = lines or [line for line in text.splitlines() if line.startswith("trinity:")] or text.splitlines()[-1:]
    return "fails: " + re.sub(r"^.*?left out: ", "", lines[0]).replace(a.work, "").replace(folder, "")[:260]

def gap(env):
    """The first step's gap between sampler and trainer: later steps may train what an earlier one left."""
    for root, _, names in os.walk(env["TRINITY_CHECKPOINT_ROOT_DIR"]):
        if "metrics.jsonl" in names:
            with open(os.path.join(root, "metrics.jsonl")) as f:
                first = f.readline()
            return json.loads(first).get("train/kl_sample_train_v1", "not measured") if first else "not measured"
    return "not measured"

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
               "conversations": turns, "rubric": rubric, "task_id": str(i), "messages": [{"role": "user", "content": f"What is {i} + 1?"}],
               "prompt": f"Say {i}.",
               "response": str(i), "remaining_chat": "", "info_truth": "", "decision_truth": "continue"}

def report(a, done):
    good = sum(r.startswith("runs") for _, _, r in done)
    with open(a.out, "w") as f:
        f.write(f"{len(done)} parts of {len({s for s, _, _ in done})} files; {good} run, in "
                f"{len({s for s, _, r in done if r.startswith('runs')})} files\n\n")
        wide = [max(len(row[k]) for row in done) for k in (0, 1)]
        for source, name, result in done:
            f.write(f"{source:{wide[0]}}  {name:{wide[1]}}  {result}\n")

if __name__ == "__main__":
    main()
