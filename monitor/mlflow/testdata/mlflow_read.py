"""Print a run of an MLflow store as JSON: mlflow_read.py URI EXPERIMENT RUN."""

import json
import sys

from mlflow import MlflowClient

uri, experiment, name = sys.argv[1:]
client = MlflowClient(uri)
found = client.get_experiment_by_name(experiment)
(run,) = [r for r in client.search_runs([found.experiment_id]) if r.info.run_name == name]
metrics = []
for key in sorted(run.data.metrics):
    for m in sorted(client.get_metric_history(run.info.run_id, key), key=lambda m: m.step):
        metrics.append(f"{m.step}:{key}={m.value:.16g}")
print(json.dumps({
    "Experiment": found.name, "Name": run.info.run_name, "Status": run.info.status, "Metrics": metrics,
    "Latest": run.data.metrics, "Params": run.data.params, "Tags": run.data.tags,
}))
