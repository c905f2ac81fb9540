#!/usr/bin/env bash
# The records of a run, read back by the real programs: Weights & Biases (its sync program sends the offline files to a stand-in that keeps
# them), a real MLflow server, Trackio, and TensorBoard. A run is stopped in the middle and goes on. Needs Python with pip; makes its environment below bin/.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=bin/monitors
[ -x $env/bin/python ] || { python3 -m venv $env && $env/bin/pip install -q wandb mlflow tensorboard trackio; }
CGO_ENABLED=0 go build -o bin/trinity ./cmd/trinity
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf $work' EXIT
$env/bin/mlflow server --host 127.0.0.1 --port 5151 --workers 1 --backend-store-uri sqlite:///$work/mlflow.db >$work/mlflow.log 2>&1 &
until $env/bin/python -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:5151/health")' 2>/dev/null; do sleep 1; done

train() { # type, last step, then more of the configuration
  local kind=$1 last=$2; shift 2
  env -u WANDB_API_KEY bin/trinity run -c examples/tiny/gsm8k.yaml name=$kind checkpoint_root_dir=$work monitor.monitor_type=$kind trainer.total_steps=$last \
    buffer.batch_size=2 explorer.eval_on_startup=false buffer.explorer_input.eval_tasksets=[] "$@" >>$work/$kind.log
}
for kind in tensorboard wandb mlflow trackio; do
  args=(); [ $kind = mlflow ] && args=("monitor.monitor_args={uri: http://127.0.0.1:5151}")
  train $kind 3 "${args[@]}"
  train $kind 6 "${args[@]}" # the same job goes on
done
$env/bin/python monitor/testdata/read_monitors.py $work
go test ./monitor -run TestMLflowReadsStores -count 1 -mlflow.python "$PWD/$env/bin/python" # the stores that need no server
