"""Tasks of the harness Harbor (pip install harbor, Python 3.12 or newer): each is a folder with an instruction, an environment
and tests. The harness starts the environment, an agent in it and the tests; the agent asks the model at the run's URL."""

import shutil
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from trinity import _missing
from trinity.common.workflows.workflow import WorkflowWithRecording

__getattr__ = _missing.attribute(__name__)


class HarborWorkflow(WorkflowWithRecording):
    """raw_task["task_dir"] is the folder of a task. workflow_args are

    agent_name, agent_import_path   an agent of Harbor, or MODULE:CLASS of one's own (openclaw)
    agent_kwargs, agent_env         its arguments and variables
    environment, verifier           keys of Harbor's sections of these names
    artifacts, extra_instruction_paths, trial_name, and the five timeout multipliers, as Harbor has them
    trials_dir                      where Harbor writes ("harbor_trials")
    reward_key                      which of several rewards is the reward ("reward")
    rollout_base_url                where the environment reaches this program: a whole URL, or a host and port in place of
                                    those of the run's URL, such as http://host.docker.internal:8010
    rollout_api_key, harbor_model_name, provider_env    what the agent gets as OPENAI_API_KEY and OPENAI_MODEL, and more
    """

    DEFAULT_AGENT_NAME = "openclaw"
    DEFAULT_TRIALS_DIR = "harbor_trials"
    DEFAULT_REWARD_KEY = "reward"

    def __init__(self, *, task, model, auxiliary_models=None):
        super().__init__(task=task, model=model, auxiliary_models=auxiliary_models)
        self.args = task.workflow_args or {}
        self.harbor_task_dir = _folder(task.raw_task)
        self.harbor_task_name = self.harbor_task_dir.name
        paths, tasks, scanner = _harbor("models.task.paths", "models.task.config", "viewer.task_scanner")
        self.harbor_task_paths = paths.TaskPaths(self.harbor_task_dir)
        with open(self.harbor_task_paths.config_path, encoding="utf-8") as f:
            self.harbor_task_config = tasks.TaskConfig.model_validate_toml(f.read())
        self.harbor_instruction = scanner.TaskDefinitionScanner(self.harbor_task_dir.parent).get_instruction(
            self.harbor_task_name)

    async def run_async(self):
        result = await self._run_harbor_trial(self._build_trial_config())
        rewards = dict((result.verifier_result and result.verifier_result.rewards) or {})
        failure, key = result.exception_info, self._reward_key(rewards)
        reward = float(rewards[key]) if rewards else 0.0
        info = {"harbor_task_name": result.task_name, "harbor_trial_name": result.trial_name, "harbor_rewards": rewards,
                "harbor_trial_uri": result.trial_uri,
                **({"harbor_reward_key": key} if rewards else {"harbor_reward_missing": True})}
        if failure is not None:
            info.update(harbor_exception_type=failure.exception_type, harbor_exception_message=failure.exception_message)
            self.logger.warning("Harbor: %s: %s: %s", result.trial_name, failure.exception_type, failure.exception_message)
        await self.update_reward(reward, info=info)
        if failure is not None and not self.model.extract_experience_from_history(clear_history=False, key=self.api_key):
            raise RuntimeError(f"Harbor: the agent did not ask the model: {failure.exception_type}: "
                               f"{failure.exception_message}")
        counts = zip(("input_tokens", "cache_tokens", "output_tokens", "cost_usd"), result.compute_token_cost_totals())
        return {"harbor/reward": reward, "harbor/has_exception": float(failure is not None),
                "harbor/num_rewards": float(len(rewards)),
                **{f"harbor/{name}": float(v) for name, v in counts if v is not None}}

    def _reward_key(self, rewards):
        """Which of the verifier's rewards is the reward."""
        chosen = self.args.get("reward_key")
        if chosen and rewards and str(chosen) not in rewards:
            raise KeyError(f"Harbor's verifier gave the rewards {', '.join(sorted(rewards))}, and reward_key is {chosen}")
        if chosen or self.DEFAULT_REWARD_KEY in rewards or not rewards:
            return str(chosen or self.DEFAULT_REWARD_KEY)
        if len(rewards) > 1:
            raise ValueError(f"Harbor's verifier gave the rewards {', '.join(sorted(rewards))}; set workflow_args.reward_key to "
                             "one of them")
        return next(iter(rewards))

    def _build_trial_config(self):
        config, = _harbor("models.trial.config")
        a = self.args
        more = {key: a[key] for key in _AS_THEY_ARE if a.get(key) is not None}
        return config.TrialConfig(
            task=config.TaskConfig(path=self.harbor_task_dir), agent=self._agent(config.AgentConfig),
            environment=_placed(config.EnvironmentConfig(**(a.get("environment") or {}))),
            verifier=config.VerifierConfig(**(a.get("verifier") or {})),
            trials_dir=Path(a.get("trials_dir") or self.DEFAULT_TRIALS_DIR).expanduser(),
            extra_instruction_paths=[Path(p).expanduser() for p in a.get("extra_instruction_paths") or []], **more)

    def _agent(self, kind):
        a = self.args
        name, path = a.get("agent_name"), a.get("agent_import_path")
        model = str(a.get("harbor_model_name") or self.model_name)
        env = {**(a.get("agent_env") or {}), "OPENAI_BASE_URL": self._url(a.get("rollout_base_url")),
               "OPENAI_API_KEY": a.get("rollout_api_key") or self.api_key, "OPENAI_MODEL": model,
               **(a.get("provider_env") or {})}
        return kind(name=name or (None if path else self.DEFAULT_AGENT_NAME), import_path=path, model_name=model,
                    kwargs=a.get("agent_kwargs") or {}, env={str(k): str(v) for k, v in env.items()})

    def _url(self, given):
        """The URL of the run as the environment reaches it."""
        to = urlsplit(given or "")
        if not to.netloc:
            return self.base_url
        if to.path.strip("/") not in ("", "v1"):
            return given
        return urlunsplit((to.scheme, to.netloc, urlsplit(self.base_url).path, "", ""))

    async def _run_harbor_trial(self, trial_config):
        harbor, = _harbor("")
        return await (await harbor.Trial.create(trial_config)).run()


_AS_THEY_ARE = ("trial_name", "artifacts", "timeout_multiplier", "agent_timeout_multiplier", "verifier_timeout_multiplier",
                "agent_setup_timeout_multiplier", "environment_build_timeout_multiplier")


def _folder(row):
    """The folder of a task."""
    given = (row or {}).get("task_dir")
    if not given:
        raise ValueError("harbor_workflow reads the column task_dir, the folder of a task of Harbor, and the row has "
                         f"{', '.join(row or {}) or 'no columns'}")
    folder = Path(given).expanduser().resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"task_dir is {given}, which is no folder")
    return folder


def _harbor(*names):
    """Modules of the package harbor."""
    import importlib

    try:
        return [importlib.import_module(f"harbor.{name}".rstrip(".")) for name in names]
    except ImportError as e:
        raise ImportError("harbor_workflow needs the package harbor, which needs Python 3.12 or newer: install it (pip install "
                          f"harbor) in the Python that trinity uses (--python or VIRTUAL_ENV chooses it): {e}") from None


def _placed(environment):
    """An environment that can be started here: Harbor's own ones are containers and services, and it has none that runs
    tasks on this machine as it is."""
    kind = getattr(environment.type, "value", environment.type) or ("" if environment.import_path else "docker")
    if kind == "docker" and shutil.which("docker") is None:
        raise RuntimeError("Harbor runs tasks in Docker unless workflow_args.environment says otherwise, and there is no docker "
                           "here: install it, or name another environment: {type: podman}, a service of Harbor's, or "
                           "{import_path: MODULE:CLASS} of one of your own")
    return environment
