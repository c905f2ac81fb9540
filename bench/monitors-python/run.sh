#!/usr/bin/env bash
# Command monitors-python reads a run's records with wandb, a real MLflow server, TensorBoard and Trackio.
# Needs: Python and pip
# Takes: ten minutes
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
$env/bin/python bench/monitors-python/read_monitors.py $work
TRINITY_TEST_PYTHON=$PWD/$env/bin/python go test ./monitor/mlflow -run TestMLflowReadsStores -count 1 # the stores that need no server
