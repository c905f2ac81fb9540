#!/usr/bin/env bash
# Command harbor trains on a task of the harness Harbor for two steps, in a folder in place of a container; with a folder that has
# Trinity-RFT's harbor_workflow.py as its argument by that file, too.
# Needs: Python 3.12 and pip, or PYTHON=python with harbor
# Takes: three minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-bin/harbor/venv/bin/python}
jobs=$PWD/bin/harbor/jobs
mkdir -p bin/harbor && rm -rf "$jobs" bin/harbor/trials
go build -o bin/trinity ./cmd/trinity
if [ -z "${PYTHON:-}" ]; then
	python3.12 -m venv bin/harbor/venv && "$python" -m pip install -q harbor
fi
here=$PWD/rl/plugin/testdata/harbor
for _ in 1 2 3 4; do echo "{\"task_dir\": \"$here/tasks/digits\"}"; done >bin/harbor/tasks.jsonl
export HARBOR_TELEMETRY=0 LITELLM_LOCAL_MODEL_COST_MAP=True PYTHONPATH=$here
trains() { # a name, a workflow, and more arguments
	echo "# $1"
	bin/trinity run --config examples/tiny/gsm8k.yaml --python "$python" "${@:3}" name="$2" checkpoint_root_dir="$jobs" seed=1 \
		buffer.batch_size=2 algorithm.repeat_times=4 buffer.total_steps=2 trainer.total_steps=2 explorer.eval_on_startup=false \
		buffer.explorer_input.eval_tasksets=[] explorer.max_retry_times=0 model.max_response_tokens=24 \
		buffer.explorer_input.taskset.path=bin/harbor/tasks.jsonl buffer.explorer_input.taskset.default_workflow_type="$2" \
		buffer.explorer_input.taskset.workflow_args="{agent_import_path: 'local:Asks', environment: {import_path: \
'local:Folder'}, trials_dir: bin/harbor/trials}" >"bin/harbor/$2.log" 2>&1 || tail "bin/harbor/$2.log"
	python3 - "$jobs"/*/"$2"/metrics.jsonl <<-'END'
		import json, sys
		wanted = ("rollout/reward/mean", "rollout/harbor/reward/max", "rollout/harbor/has_exception/mean", "train/kl_sample_train_v1")
		for line in open(sys.argv[1]):
		    print(*(f"{name} {v:.6g}" for name, v in json.loads(line).items() if name in wanted), sep="  ")
	END
}
echo "# bench/harbor: $("$python" --version), harbor $("$python" -c 'from importlib.metadata import version; print(version("harbor"))')"
trains "harbor_workflow, with an agent of two turns and an environment by import_path" harbor_workflow
if [ -n "${1:-}" ]; then
	mkdir -p bin/harbor/theirs && cp "$1/harbor_workflow.py" bin/harbor/theirs/
	printf '%s\n' 'from trinity.common.workflows import WORKFLOWS' 'from trinity.plugins.harbor_workflow import HarborWorkflow' \
		'WORKFLOWS.register_module("theirs", HarborWorkflow)' >bin/harbor/theirs/zz_names.py
	trains "Trinity-RFT's harbor_workflow.py, unchanged" theirs --plugin-dir bin/harbor/theirs
fi
