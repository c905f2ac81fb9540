"""Names and choices that files import."""

from enum import Enum, EnumMeta

from trinity import _missing

__getattr__ = _missing.attribute(__name__)

EXPLORER_NAME = "explorer"
TRAINER_NAME = "trainer"
SELECTOR_METRIC = "selector_metric"
ROLLOUT_WEIGHT_SYNC_GROUP_NAME = "rollout_weight_sync"
DEBUG_NAMESPACE = "TRINITY_DEBUG_NAMESPACE"

CHECKPOINT_ROOT_DIR_ENV_VAR = "TRINITY_CHECKPOINT_ROOT_DIR"
PREVIOUS_STAGE_CHECKPOINT_DIR_ENV_VAR = "TRINITY_PREV_STAGE_CKPT_DIR"
MODEL_PATH_ENV_VAR = "TRINITY_MODEL_PATH"
TASKSET_PATH_ENV_VAR = "TRINITY_TASKSET_PATH"
BUFFER_PATH_ENV_VAR = "TRINITY_BUFFER_PATH"
PLUGIN_DIRS_ENV_VAR = "TRINITY_PLUGIN_DIRS"
LOG_DIR_ENV_VAR = "TRINITY_LOG_DIR"
LOG_LEVEL_ENV_VAR = "TRINITY_LOG_LEVEL"
LOG_NODE_IP_ENV_VAR = "TRINITY_LOG_NODE_IP"
MAX_EXP_BYTES_ENV_VAR = "TRINITY_MAX_EXP_SIZE"

MAX_MODEL_LEN = 4096


class CaseInsensitiveEnumMeta(EnumMeta):
    """Finds members by name or value in any case, and by the names in name_aliases."""

    name_aliases = {}

    def __getitem__(cls, name):
        return super().__getitem__(cls.name_aliases.get(name.lower(), name).upper())

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return cls[name]

    def __call__(cls, value, *args, **kwargs):
        if isinstance(value, str):
            value = cls.name_aliases.get(value.lower(), value).lower()
        return super().__call__(value, *args, **kwargs)


class CaseInsensitiveEnum(Enum, metaclass=CaseInsensitiveEnumMeta):
    """The base of enums that users write by hand."""


class SyncMethodEnumMeta(CaseInsensitiveEnumMeta):
    """The earlier names of SyncMethod."""

    name_aliases = {"online": "nccl", "offline": "checkpoint"}


class SyncStyleEnumMeta(CaseInsensitiveEnumMeta):
    """The earlier names of SyncStyle."""

    name_aliases = {"dynamic_by_explorer": "explorer_driven", "dynamic_by_trainer": "trainer_driven"}


class PromptType(CaseInsensitiveEnum):
    """What the rows of a data set hold."""

    MESSAGES = "messages"
    PLAINTEXT = "plaintext"


class StorageType(CaseInsensitiveEnum):
    """How experiences are stored."""

    SQL = "sql"
    QUEUE = "queue"
    FILE = "file"


class SyncMethod(CaseInsensitiveEnum, metaclass=SyncMethodEnumMeta):
    """How weights travel; the trinity binary has a way of its own."""

    NCCL = "nccl"
    CHECKPOINT = "checkpoint"
    MEMORY = "memory"


class SyncStyle(CaseInsensitiveEnum, metaclass=SyncStyleEnumMeta):
    """Who decides when weights travel."""

    FIXED = "fixed"
    TRAINER_DRIVEN = "trainer_driven"
    EXPLORER_DRIVEN = "explorer_driven"
    FULLY_ASYNC = "fully_async"


class RunningStatus(Enum):
    """What a loop is doing."""

    RUNNING = "running"
    REQUIRE_SYNC = "require_sync"
    STOPPED = "stopped"


class SaveStrategy(CaseInsensitiveEnum):
    """How upstream's trainer saves; the trinity binary saves in one process."""

    SINGLE_THREAD = "single_thread"
    SINGLE_PROCESS = "single_process"
    SINGLE_NODE = "single_node"
    UNRESTRICTED = "unrestricted"


class OpType(Enum):
    """How a reward is reshaped."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
