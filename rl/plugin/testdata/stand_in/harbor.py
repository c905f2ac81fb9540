"""What stands in tests for the package harbor 0.26: the names that harbor_workflow and ../harbor/local.py use, and a trial
that goes through the same steps: environment, agent, tests, reward file."""

import importlib
import os
import sys
import tempfile
from types import ModuleType
from types import SimpleNamespace as Plain


def module(name, **names):
    made = ModuleType(f"harbor.{name}")
    vars(made).update(names)
    sys.modules[made.__name__] = made


class BaseAgent:
    def __init__(self, extra_env):
        self.extra_env = extra_env


class TaskPaths:
    def __init__(self, folder):
        self.config_path = folder / "task.toml"


class TaskConfig(Plain):
    @classmethod
    def model_validate_toml(cls, text):
        assert 'version = "1.0"' in text
        return cls()


class TaskDefinitionScanner(Plain):
    def __init__(self, folder):
        self.folder = folder

    def get_instruction(self, name):
        return (self.folder / name / "instruction.md").read_text()


class EnvironmentConfig(Plain):
    type = import_path = None


def load(path):
    name, cls = path.split(":")
    return getattr(importlib.import_module(name), cls)


class Trial:
    @classmethod
    async def create(cls, config):
        self = cls()
        self.config = config
        return self

    async def run(self):
        c, folder = self.config, self.config.task.path
        environment, failed, rewards = load(c.environment.import_path)(), None, None
        await environment.start(False)
        try:
            await load(c.agent.import_path)(c.agent.env).run((folder / "instruction.md").read_text(), environment, None)
            await environment.upload_dir(folder / "tests", "/tests")
            ended = await environment.exec("/tests/test.sh")
            assert ended.return_code == 0, ended.stderr
            with tempfile.TemporaryDirectory() as out:
                await environment.download_dir("/logs/verifier", out)
                with open(os.path.join(out, "reward.txt")) as f:
                    rewards = {"reward": float(f.read())}
        except Exception as e:
            failed = Plain(exception_type=type(e).__name__, exception_message=str(e))
        finally:
            await environment.stop(True)
        return Plain(task_name=folder.name, trial_name=f"{folder.name}__1", trial_uri="file:trial", exception_info=failed,
                     verifier_result=rewards and Plain(rewards=rewards),
                     compute_token_cost_totals=lambda: (None, None, 7, None))


__path__ = []
for part in ("agents", "environments", "models", "models.task", "models.trial", "viewer"):
    module(part, __path__=[])
module("agents.base", BaseAgent=BaseAgent)
module("environments.base", BaseEnvironment=type("BaseEnvironment", (), {}), ExecResult=Plain)
module("environments.capabilities", EnvironmentCapabilities=Plain)
module("models.task.paths", TaskPaths=TaskPaths)
module("models.task.config", TaskConfig=TaskConfig)
module("models.trial.config", EnvironmentConfig=EnvironmentConfig,
       **{name: type(name, (Plain,), {}) for name in ("AgentConfig", "TaskConfig", "TrialConfig", "VerifierConfig")})
module("viewer.task_scanner", TaskDefinitionScanner=TaskDefinitionScanner)
