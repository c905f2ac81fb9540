"""The configuration of Trinity-RFT 0.6.0 as classes: what workflows, readers and operators get, and what files import."""

import copy
import os
from dataclasses import field, fields, is_dataclass, make_dataclass
from enum import Enum
from typing import Any, Dict, List, Optional, get_args, get_type_hints

from trinity import _missing
from trinity.common import constants
from trinity.common.constants import PromptType, SaveStrategy, StorageType, SyncMethod, SyncStyle

__getattr__ = _missing.attribute(__name__)


class _Maybe:
    """A field that is None, or of a type."""

    def __init__(self, kind):
        self.kind = kind


def _config(name, text, base=None, /, **given):
    """A dataclass. Fields are given by their defaults: a value, a list or a dict, which each object has its own copy of;
    a class of this file, which stands for one made without arguments; [C] and {str: C} for an empty list or dict of such;
    and a plain type, or _Maybe(C), for None or a value of it."""
    made = make_dataclass(name, [(key, *_field(value)) for key, value in given.items()], bases=(base,) if base else (),
                          namespace={"__doc__": text, "__module__": __name__})
    return made


def _field(value):
    if isinstance(value, _Maybe):
        return Optional[value.kind], None
    if is_dataclass(value):
        return value, field(default_factory=value)
    if isinstance(value, type) or getattr(value, "__origin__", None):
        return Optional[value], None
    if isinstance(value, list):
        kind, start = (value[0], []) if value and isinstance(value[0], type) else (type(value[0]) if value else str, value)
        return List[kind], field(default_factory=lambda: list(start))
    if isinstance(value, dict):
        kind, start = (value[str], {}) if str in value else (Any, value)
        return (Dict[str, kind] if str in value else dict), field(default_factory=lambda: dict(start))
    return type(value), value


FormatConfig = _config(
    "FormatConfig", "Which column of a row means what: the section format of a taskset.",
    prompt_type=PromptType.MESSAGES, prompt_key="prompt", response_key="response", system_prompt_key=str, system_prompt=str,
    messages_key="message", tools_key="tools", image_key=str, video_key=str, reply_prefix=str, workflow_key="",
    reward_fn_key="", chosen_key="chosen", rejected_key="rejected", enable_concatenated_multi_turn=False, chat_template=str,
    enable_thinking=bool)
GenerationConfig = _config(
    "GenerationConfig", "How answers are sampled: the section rollout_args. n is how often the task is repeated.",
    temperature=float, top_p=float, top_k=-1, logprobs=int, max_tokens=int, n=1)
OptimizerConfig = _config(
    "OptimizerConfig", "The section optimizer.", lr=1e-6, lr_warmup_steps=-1, lr_warmup_steps_ratio=0.0, min_lr_ratio=0.01,
    warmup_style=str, lr_scheduler_type="constant", optimizer_type="adam", betas=[0.9, 0.999], weight_decay=0.01,
    clip_grad=1.0)
LoRAConfig = _config(
    "LoRAConfig", "An adapter.", name=str, path=str, base_model_name=str, lora_rank=32, lora_alpha=32, lora_dtype="auto",
    target_modules="all-linear", exclude_modules=str, is_dummy=False)
DataSelectorConfig = _config(
    "DataSelectorConfig", "The section data_selector.", selector_type="sequential", seed=42, feature_keys=[], kwargs={})
TaskSelectorConfig = DataSelectorConfig
ReplayBufferConfig = _config(
    "ReplayBufferConfig", "Experiences that are trained again.", enable=False, priority_fn="linear_decay",
    reuse_cooldown_time=float, priority_fn_args={"decay": 2.0})
OverRolloutConfig = _config(
    "OverRolloutConfig", "Steps that do not wait for all tasks.", ratio=0.0, wait_after_min=30.0, return_partial_tasks=False)
DynamicTimeoutConfig = _config(
    "DynamicTimeoutConfig", "Time limits that follow the tasks' times.", enable=False, warmup_min_steps=1, ratio=3.0)
_Rows = _config(
    "_Rows", "What data of all kinds have.", name="", storage_type=StorageType.FILE.value, path=str, index=0, split="train",
    subset_name=str, format=FormatConfig, max_retry_times=3, max_retry_interval=1, data_selector=DataSelectorConfig,
    enable_progress_bar=False, ray_namespace=str, total_epochs=1, total_steps=int, batch_size=0)
_Tasks = dict(
    default_workflow_type=str, default_reward_fn_type=str, rollout_args=GenerationConfig, workflow_args={}, reward_fn_args={},
    is_eval=False)
_Stored = dict(
    capacity=10000, max_read_timeout=1800.0, replay_buffer=ReplayBufferConfig, schema_type=str, tokenizer_path=str)
StorageConfig = _config("StorageConfig", "What a reader reads.", _Rows, repeat_times=int, wrap_in_ray=True, **_Stored, **_Tasks)


class _Data(_Rows):
    """A taskset or a buffer."""

    def to_storage_config(self):
        """The same as a reader gets it."""
        known = StorageConfig.__dataclass_fields__
        return StorageConfig(**{k: v for k, v in vars(self).items() if k in known})


TasksetConfig = _config(
    "TasksetConfig", "A taskset of the configuration.", _Data, repeat_times=1, task_selector=_Maybe(DataSelectorConfig), **_Tasks)
ExperienceBufferConfig = _config(
    "ExperienceBufferConfig", "A buffer that the trainer reads.", _Data, storage_type=StorageType.QUEUE.value, **_Stored)
OperatorConfig = _config("OperatorConfig", "One operator of a pipeline.", name="", args={})
ExperiencePipelineConfig = _config(
    "ExperiencePipelineConfig", "The operators that experiences pass.", operators=[OperatorConfig], save_input=True,
    input_save_path=str, inputs={str: ExperienceBufferConfig}, output=_Maybe(ExperienceBufferConfig))
TaskPipelineConfig = _config(
    "TaskPipelineConfig", "The operators that tasks pass before the run.", operators=[OperatorConfig], num_process=4,
    config_path=str, inputs=[], output=_Maybe(TasksetConfig), target_fields=[], priority_weights={str: float}, top_k=-1)
DataProcessorConfig = _config(
    "DataProcessorConfig", "Both pipelines.", task_pipeline=_Maybe(TaskPipelineConfig),
    experience_pipeline=ExperiencePipelineConfig)
TinkerConfig = _config(
    "TinkerConfig", "A model that a Tinker server trains.", enable=False, rank=16, seed=int, train_mlp=True, train_attn=True,
    train_unembed=True, base_url=str)
ExternalModelConfig = _config(
    "ExternalModelConfig", "A model behind OpenAI's interface.", enable=False, base_url_env="OPENAI_BASE_URL",
    api_key_env="OPENAI_API_KEY", model_name=str)
_Lengths = dict(max_model_len=int, max_prompt_tokens=int, max_response_tokens=int, rope_scaling=dict, rope_theta=float)
ModelConfig = _config(
    "ModelConfig", "The section model.", model_path="", trust_remote_code=False, critic_model_path="",
    custom_chat_template=str, chat_template_path=str, temperature=1.0, top_p=1.0, top_k=-1, logprobs=0, min_response_tokens=0,
    enable_prompt_truncation=True, repetition_penalty=1.0, enable_thinking=bool, lora_configs=List[LoRAConfig],
    fully_sharded_loras=False, max_cpu_loras=int, tinker=TinkerConfig, external_model=ExternalModelConfig, **_Lengths)
InferenceModelConfig = _config(
    "InferenceModelConfig", "The settings of a model that is asked; a workflow has its own as self.model.config.",
    model_path=str, name=str, trust_remote_code=False, engine_type="vllm", engine_num=1, tensor_parallel_size=1,
    data_parallel_size=1, pipeline_parallel_size=1, enable_expert_parallel=False, gpu_per_engine=0, extra_engine_args={},
    use_v1=True, enforce_eager=False, enable_prefix_caching=True, enable_chunked_prefill=True, gpu_memory_utilization=0.9,
    dtype="bfloat16", seed=42, temperature=float, top_p=float, top_k=int, logprobs=int, min_response_tokens=int,
    enable_prompt_truncation=bool, repetition_penalty=float, ignore_eos=False, enable_multimodal=False, chat_template=str,
    enable_thinking=bool, enable_history=False, enable_openai_api=False, enable_log_requests=False, base_port=int,
    api_key="EMPTY", enable_auto_tool_choice=False, tool_call_parser=str, reasoning_parser=str,
    external_model_config=ExternalModelConfig, nnodes=1, node_rank=0, enable_return_routed_experts=False,
    weight_sync_buffer_size=1024, bundle_indices="", engine_id=0, ray_actor_name=str, sync_method=SyncMethod,
    checkpoint_job_dir=str, cuda_visible_devices=str, enable_lora=False, enable_runtime_lora_updating=False,
    lora_modules=List[Dict], lora_kwargs={}, ray_namespace=str, **_Lengths)
AlgorithmConfig = _config(
    "AlgorithmConfig", "The section algorithm.", algorithm_type="ppo", repeat_times=1, optimizer=OptimizerConfig,
    **{name: kind for part in ("sample_strategy", "advantage_fn", "kl_penalty_fn", "policy_loss_fn", "kl_loss_fn",
                               "entropy_loss_fn") for name, kind in ((part, str), (part + "_args", dict))},
    loss_agg_mode=str, enable_router_replay=False, bypass_old_logprobs=True, rollout_correction=dict)
ClusterConfig = _config(
    "ClusterConfig", "The section cluster.", ray_address="auto", node_num=0, gpu_per_node=0, total_gpu_num=0,
    rollout_gpu_num=0, auxiliary_model_gpu_num=0, explorer_gpu_num=0, trainer_gpu_num=0, trainer_node_num=0,
    trainer_gpu_num_per_node=0)
ExplorerInput = _config(
    "ExplorerInput", "The tasksets.", taskset=_Maybe(TasksetConfig), tasksets=[TasksetConfig], eval_tasksets=[TasksetConfig],
    default_workflow_type=str, default_eval_workflow_type=str, default_reward_fn_type=str)
TrainerInput = _config(
    "TrainerInput", "The buffers that the trainer reads.", experience_buffer=_Maybe(ExperienceBufferConfig),
    auxiliary_buffers={str: ExperienceBufferConfig})
BufferConfig = _config(
    "BufferConfig", "The section buffer.", batch_size=1, train_batch_size=0, total_epochs=1, total_steps=int,
    explorer_input=ExplorerInput, trainer_input=TrainerInput, explorer_output=_Maybe(StorageConfig), tokenizer_path=str,
    cache_dir=str)
ExplorerConfig = _config(
    "ExplorerConfig", "The section explorer.", name=constants.EXPLORER_NAME, runner_per_model=8, runner_prepare_concurrency=8,
    runner_prepare_max_retries=2, max_timeout=1800, max_retry_times=2, env_vars={}, concurrent_mode="sequential",
    max_repeat_times_per_runner=int, runner_num=int, rollout_model=InferenceModelConfig,
    auxiliary_models=[InferenceModelConfig], eval_interval=100, eval_on_startup=True, bench_on_latest_checkpoint=False,
    proxy_port=8010, listen_address="0.0.0.0", service_status_check_interval=60, min_running_model_num=1, db_url=str,
    over_rollout=OverRolloutConfig, dynamic_timeout=DynamicTimeoutConfig, runner_state_report_interval=0,
    max_inflight_batches=2)
MegatronParallelConfig = _config(
    "MegatronParallelConfig", "How Megatron splits a model.", tensor_model_parallel_size=1, pipeline_model_parallel_size=1,
    virtual_pipeline_model_parallel_size=int, expert_model_parallel_size=1, expert_tensor_parallel_size=int,
    context_parallel_size=1, sequence_parallel=True)
TrainerConfig = _config(
    "TrainerConfig", "The section trainer.", name=constants.TRAINER_NAME, trainer_type="verl", trainer_strategy="fsdp2",
    save_interval=0, enable_preview=False, total_steps=int, save_hf_checkpoint="last", grad_clip=1.0, use_dynamic_bsz=True,
    use_remove_padding=True, balance_batch=True, critic_warmup=0, max_token_len_per_gpu=int, ulysses_sequence_parallel_size=1,
    fix_actor_microbatch_loss_scale=False, param_offload=False, optimizer_offload=False, grad_offload=False,
    offload_policy=False, save_strategy=SaveStrategy.UNRESTRICTED, max_checkpoints_to_keep=0, megatron=MegatronParallelConfig,
    trust_remote_code=False, trainer_config={}, trainer_config_path="")
MonitorConfig = _config(
    "MonitorConfig", "The section monitor.", monitor_type="tensorboard", monitor_args=dict, detailed_stats=False,
    enable_ray_timeline=False, cache_dir="")
SynchronizerConfig = _config(
    "SynchronizerConfig", "The section synchronizer.", sync_method=SyncMethod.NCCL, sync_style=SyncStyle.FIXED,
    sync_interval=1, explorer_sync_interval=int, trainer_sync_interval=int, sync_offset=0, sync_timeout=3600,
    group_name=constants.ROLLOUT_WEIGHT_SYNC_GROUP_NAME, wait_for_checkpoint=False, explorer_world_size=int, ray_namespace="")
DataJuicerServiceConfig = _config(
    "DataJuicerServiceConfig", "Data-Juicer's server.", server_url=str, auto_start=False, port=int)
ServiceConfig = _config("ServiceConfig", "The section service.", data_juicer=_Maybe(DataJuicerServiceConfig))
LogConfig = _config("LogConfig", "The section log.", level="INFO", group_by_node=False, save_dir="")
StageConfig = _config(
    "StageConfig", "One of several stages, with the sections that differ.", stage_name="", mode=str,
    algorithm=_Maybe(AlgorithmConfig), buffer=_Maybe(BufferConfig), data_processor=_Maybe(DataProcessorConfig),
    explorer=_Maybe(ExplorerConfig), trainer=_Maybe(TrainerConfig))


class _Whole:
    """What a configuration can do."""

    def save(self, config_path):
        """Writes the configuration as YAML."""
        yaml = _yaml()
        with open(config_path, "w", encoding="utf-8") as f:
            yaml.safe_dump(_unstructured(self), f, sort_keys=False)

    def __iter__(self):
        """The configuration of each stage."""
        for stage in self.stages:
            made = copy.deepcopy(self)
            for key, value in vars(stage).items():
                if value is not None and hasattr(made, key):
                    setattr(made, key, value)
            if stage.stage_name:
                made.name = f"{self.name}/{stage.stage_name}"
            made.trainer.save_hf_checkpoint, made.stages = "last", []
            yield made

    def check_and_update(self):
        """Refused: the binary checks the configuration of a run."""
        raise NotImplementedError("configurations are checked by the trinity binary: trinity validate --config FILE")

    def flatten(self):
        """All values by their dotted names."""
        out = {}
        _flatten(_unstructured(self), "", out)
        return out

    def get_envs(self):
        """The variables that upstream hands to its processes."""
        envs = {constants.PLUGIN_DIRS_ENV_VAR: os.getenv(constants.PLUGIN_DIRS_ENV_VAR, ""),
                constants.LOG_LEVEL_ENV_VAR: self.log.level, constants.LOG_DIR_ENV_VAR: self.log.save_dir,
                constants.LOG_NODE_IP_ENV_VAR: str(int(self.log.group_by_node))}
        if self.model.tinker.base_url:
            envs["TINKER_BASE_URL"] = self.model.tinker.base_url
        other = self.model.external_model
        names = (other.base_url_env, other.api_key_env) if other.enable else ()
        return {**envs, **{name: os.getenv(name, "") for name in names if name}}

    def get_checkpoint_job_dir(self):
        """The folder of the job."""
        return os.path.join(self.checkpoint_root_dir, self.project, self.group, self.name)


Config = _config(
    "Config", "A whole configuration.", _Whole, mode="both", project="Trinity-RFT", group="", name="rft",
    checkpoint_root_dir="", checkpoint_job_dir="", ray_namespace="", continue_from_checkpoint=True,
    ignore_validator_suggestions=False, algorithm=AlgorithmConfig, data_processor=DataProcessorConfig, model=ModelConfig,
    cluster=ClusterConfig, buffer=BufferConfig, explorer=ExplorerConfig, trainer=TrainerConfig, monitor=MonitorConfig,
    synchronizer=SynchronizerConfig, service=ServiceConfig, log=LogConfig, stages=[StageConfig])


def set_if_none(obj, attr, val):
    """Sets an attribute that is missing or None."""
    if getattr(obj, attr, None) is None:
        setattr(obj, attr, val)


def load_config(config_path):
    """The Config of a YAML file. It needs PyYAML, and omegaconf where the file has ${…}."""
    with open(config_path, encoding="utf-8") as f:
        text = f.read()
    try:
        return structured(Config, _read(text, config_path))
    except (TypeError, ValueError) as e:
        raise ValueError(f"Invalid configuration: {config_path}: {e}") from e


def _yaml():
    try:
        import yaml
    except ImportError as e:
        raise ImportError("configurations in YAML need PyYAML in the Python that trinity uses: pip install pyyaml") from e
    return yaml


def _read(text, path):
    if "${" not in text:
        return _yaml().safe_load(text) or {}
    try:
        from omegaconf import OmegaConf
    except ImportError as e:
        raise ImportError(f"{path} has ${{…}}, which needs omegaconf in the Python that trinity uses: pip install "
                          "omegaconf") from e
    return OmegaConf.to_container(OmegaConf.create(text), resolve=True)


def structured(kind, value, name=""):
    """A value of plain dicts, lists and numbers as one of a type; keys that the type has not are refused."""
    if value is None or kind in (Any, dict, Dict):
        return value
    args = get_args(kind)
    if type(None) in args:
        return structured(args[0], value, name)
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise ValueError(f"{name or 'it'} is {value!r}; it must have keys")
        hints = get_type_hints(kind)
        unknown = [k for k in value if k not in hints]
        if unknown:
            raise ValueError(f"{name}{'.' if name else ''}{unknown[0]} is not a key of {kind.__name__}")
        return kind(**{k: structured(hints[k], v, f"{name}.{k}".lstrip(".")) for k, v in value.items()})
    if args and isinstance(value, dict):
        return {k: structured(args[1], v, f"{name}.{k}") for k, v in value.items()}
    if args and isinstance(value, (list, tuple)):
        return [structured(args[0], v, f"{name}.{i}") for i, v in enumerate(value)]
    return _scalar(kind, value, name)


def _scalar(kind, value, name):
    right = {bool: (bool,), int: (int,), float: (int, float), str: (str, int, float, bool)}.get(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return value if isinstance(value, kind) else kind(value)
    if isinstance(value, str) and kind in (int, float):
        value = kind(value)
    if right is None or isinstance(value, right) and (kind in (bool, str) or not isinstance(value, bool)):
        return value if right is None else kind(value)
    raise ValueError(f"{name} is {value!r}; it must be {kind.__name__}")


def _unstructured(value):
    """A configuration as plain dicts, lists and numbers."""
    if is_dataclass(value):
        return {f.name: _unstructured(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {k: _unstructured(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unstructured(v) for v in value]
    return value.value if isinstance(value, Enum) else value


def _flatten(value, name, out):
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        out[name] = value
    for key, v in pairs or ():
        _flatten(v, f"{name}.{key}".lstrip("."), out)


def of(cls, values):
    """A value of one of these classes from the Go side's JSON; keys that it does not know are left out."""
    known = cls.__dataclass_fields__
    return cls(**{k: v for k, v in (values or {}).items() if k in known and v is not None})


def asked(values):
    """The settings of a model that the trinity binary asks."""
    ours = {"engine_type": "trinity", "logprobs": 0, "enable_history": True, "enable_openai_api": True,
            "enable_auto_tool_choice": True}
    return of(InferenceModelConfig, {**ours, **(values or {})})
