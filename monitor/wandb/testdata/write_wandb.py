"""Writes offline.wandb with the wandb library itself: what the reader and the writer of this package are held against."""
import glob, shutil, tempfile

import wandb

tmp = tempfile.mkdtemp()
settings = wandb.Settings(mode="offline", x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True, host="host", program="program",
                          disable_git=True, disable_code=True, disable_job_creation=True, save_code=False, console="off")
run = wandb.init(project="project", name="name_trainer", group="group", tags=["trainer"], id="abcdefgh", config={"a": {"b": 1}}, dir=tmp, settings=settings)
run.log({"loss": 1.5, "text": "x" * 40000}, step=1)  # longer than a block
run.log({"loss": 0.5}, step=2)
run.finish()
wandb.teardown()
shutil.copy(glob.glob(tmp + "/wandb/offline-run-*/run-*.wandb")[0], "offline.wandb")
