"""The parts of a configuration that workflows, readers and operators get."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from trinity import _missing
from trinity.common.constants import PromptType, StorageType

__getattr__ = _missing.attribute(__name__)


@dataclass
class FormatConfig:
    """Which column of a row means what: the section format of a taskset."""

    prompt_type: PromptType = PromptType.MESSAGES
    prompt_key: str = "prompt"
    response_key: str = "response"
    system_prompt_key: Optional[str] = None
    system_prompt: Optional[str] = None
    messages_key: str = "message"
    tools_key: str = "tools"
    image_key: Optional[str] = None
    video_key: Optional[str] = None
    reply_prefix: Optional[str] = None
    workflow_key: str = ""
    reward_fn_key: str = ""
    chosen_key: str = "chosen"
    rejected_key: str = "rejected"
    enable_concatenated_multi_turn: bool = False
    chat_template: Optional[str] = None
    enable_thinking: Optional[bool] = None


@dataclass
class GenerationConfig:
    """How answers are sampled: the section rollout_args. n is how often the task is repeated."""

    temperature: Optional[float] = None
    top_p: Optional[float] = None
    top_k: int = -1
    logprobs: Optional[int] = None
    max_tokens: Optional[int] = None
    n: int = 1


@dataclass
class DataSelectorConfig:
    """The section data_selector."""

    selector_type: Optional[str] = "sequential"
    seed: int = 42
    feature_keys: List[str] = field(default_factory=list)
    kwargs: dict = field(default_factory=dict)


TaskSelectorConfig = DataSelectorConfig


@dataclass
class StorageConfig:
    """What a reader reads."""

    name: str = ""
    storage_type: str = StorageType.FILE.value
    path: Optional[str] = None
    repeat_times: Optional[int] = None
    index: int = 0
    split: str = "train"
    subset_name: Optional[str] = None
    format: FormatConfig = field(default_factory=FormatConfig)
    capacity: int = 10000
    max_read_timeout: float = 1800
    max_retry_times: int = 3
    max_retry_interval: int = 1
    default_workflow_type: Optional[str] = None
    default_reward_fn_type: Optional[str] = None
    rollout_args: GenerationConfig = field(default_factory=GenerationConfig)
    workflow_args: dict = field(default_factory=dict)
    reward_fn_args: dict = field(default_factory=dict)
    data_selector: Optional[DataSelectorConfig] = None
    enable_progress_bar: Optional[bool] = False
    schema_type: Optional[str] = None
    total_epochs: int = 1
    total_steps: Optional[int] = None
    batch_size: int = 0
    tokenizer_path: Optional[str] = None
    is_eval: bool = False


@dataclass
class TasksetConfig(StorageConfig):
    """A taskset of the configuration."""

    def to_storage_config(self):
        return StorageConfig(**self.__dict__)


@dataclass
class OperatorConfig:
    """One operator of a pipeline."""

    name: str = ""
    args: Dict[str, Any] = field(default_factory=dict)


@dataclass
class InferenceModelConfig:
    """What a workflow may read of its model's settings (self.model.config)."""

    model_path: Optional[str] = None
    name: Optional[str] = None
    engine_type: str = "trinity"
    engine_num: int = 1
    seed: int = 42
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    top_k: Optional[int] = None
    logprobs: Optional[int] = 0
    max_model_len: Optional[int] = None
    max_prompt_tokens: Optional[int] = None
    max_response_tokens: Optional[int] = None
    min_response_tokens: Optional[int] = None
    enable_prompt_truncation: Optional[bool] = None
    chat_template: Optional[str] = None
    enable_thinking: Optional[bool] = None
    enable_history: bool = True
    enable_openai_api: bool = True
    enable_auto_tool_choice: bool = True
    tool_call_parser: Optional[str] = None
    reasoning_parser: Optional[str] = None
    api_key: str = "EMPTY"
    lora_modules: Optional[List[Dict]] = None


def of(cls, values):
    """A value of one of these classes from the Go side's JSON; keys that it does not know are left out."""
    known = cls.__dataclass_fields__
    return cls(**{k: v for k, v in (values or {}).items() if k in known and v is not None})
