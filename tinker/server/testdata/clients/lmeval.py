"""Runs unmodified lm-evaluation-harness (the lm_eval command) on task files of its own, and reads the samples it logs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from checks import KEY, URL

WORK = pathlib.Path(os.environ["CLIENTS_WORK"]) / "lmeval"

CHOICE = """task: choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
target_delimiter: ""
metric_list: [{{metric: acc}}]
"""

UNTIL = """task: until
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["</think>"], max_gen_toks: 40, temperature: 0.0}}
metric_list: [{{metric: exact_match}}]
"""


def task(name, form, docs):
    """Writes a task file and its jsonl, and returns their folder."""
    into = WORK / name
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    (into / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in docs))
    (into / f"{name}.yaml").write_text(form.format(data=into / "docs.jsonl"))
    return into


def run(folder, kind, route, *flags, **model):
    """The logged samples of a task, in the order of its documents."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    given = ",".join(f"{k}={v}" for k, v in {"base_url": f"{URL}/v1/{route}", "num_concurrent": 4, "max_retries": 1, **model}.items())
    p = subprocess.run([sys.executable, "-m", "lm_eval", "--model", kind, "--model_args", given, "--tasks", folder.name, "--include_path", folder,
                        "--output_path", out, "--log_samples", *flags], env={**os.environ, "OPENAI_API_KEY": KEY}, capture_output=True, text=True)
    if p.returncode:
        raise AssertionError(f"lm_eval ends with {p.returncode}: {p.stderr[-1500:]}")
    samples, = out.rglob("samples_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    return sorted(rows, key=lambda r: r["doc_id"])


def choices(rows):
    """For each document the (log-likelihood, is greedy) of its choices, and whether lm_eval finds the answer right."""
    return [([(float(x[0]), str(x[1]) == "True") for x in r["filtered_resps"]], r["acc"]) for r in rows]
