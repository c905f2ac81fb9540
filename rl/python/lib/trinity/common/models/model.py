"""The model that a workflow asks: self.model."""

import copy
import json
import threading

from trinity import _array, _missing, _seam
from trinity._plugin import wire
from trinity.algorithm._refused import Base
from trinity.common.models import _clients
from trinity.common.models._records import Records

__getattr__ = _missing.attribute(__name__)


class InferenceModel(Base):
    """The model's interface, for annotations."""

    instead = _missing.advice("trinity.common.models")


class BaseInferenceModel(InferenceModel):
    """The same."""


class ModelWrapper(Records):
    """Asks the model. Each method has a twin that ends in _async; both may be called from any thread or coroutine."""

    def __init__(self, model=None, models=None, config=None, api_address=None, *, call=None, version=0, auxiliary=None):
        super().__init__()
        self.model, self.models = model, models or []
        self.config = config
        self.enable_history = True
        self.enable_lora = False
        self.enable_thinking = getattr(config, "enable_thinking", None)
        self.history = []
        self.status = None
        self.workflow_state = {}
        self.api_address = api_address
        self._call = call
        self._version = version
        self._auxiliary = auxiliary  # which auxiliary model it is; None: the one that is trained
        self._clients = {}
        self._asked = {}
        self._lock = threading.Lock()

    def _up(self, name, args):
        return (self._call or _seam.call()).up(name, args)

    async def _up_async(self, name, args):
        return await (self._call or _seam.call()).up_async(name, args)

    def _request(self, kwargs, **what):
        """A call back's arguments: what is asked, and the sampling parameters that are given."""
        if self._auxiliary is not None:
            what["auxiliary"] = self._auxiliary
        what["params"] = {k: v for k, v in kwargs.items() if v is not None and k not in _NOT_SAMPLING}
        what["nth"] = self._count(what)
        return what

    def _count(self, request):
        """How often the same was asked before. What an answer draws derives from it and from what is asked, and so not
        from the order in which calls that run at the same time arrive."""
        key = json.dumps(request, sort_keys=True, default=str)
        with self._lock:
            self._asked[key] = self._asked.get(key, -1) + 1
            return self._asked[key]

    def _take(self, answers, kwargs):
        made = [wire.sampled(a) for a in answers]
        self.history.extend(made)
        if kwargs.get("enable_recording"):
            self._keep(made)
        return made

    # Answers.

    def chat(self, messages, **kwargs):
        """Experiences of n answers to a conversation. kwargs: n, temperature, top_p, top_k, max_tokens, stop, tools.
        enable_recording puts them under the key of the run, too."""
        return self._take(self._up("model.chat", self._request(kwargs, messages=list(messages))), kwargs)

    async def chat_async(self, messages, **kwargs):
        return self._take(await self._up_async("model.chat", self._request(kwargs, messages=list(messages))), kwargs)

    def generate(self, prompts, **kwargs):
        """Experiences of n answers to each prompt, which is a text that the model continues."""
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        return self._take(self._up("model.generate", self._request(kwargs, prompts=prompts)), kwargs)

    async def generate_async(self, prompts, **kwargs):
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        return self._take(await self._up_async("model.generate", self._request(kwargs, prompts=prompts)), kwargs)

    def generate_mm(self, *_, **__):
        raise NotImplementedError("models here read text; images and videos cannot be given")

    chat_mm = generate_mm_async = chat_mm_async = generate_mm

    # What the model thinks of tokens.

    def logprobs(self, tokens, temperature=None):
        """The log-probability of each token but the first, at temperature 1."""
        return _logprobs(self._up("model.logprobs", self._request({}, tokens=_array.to_bytes(tokens, "int32"),
                                                                  temperature=temperature)))

    async def logprobs_async(self, tokens, temperature=None):
        return _logprobs(await self._up_async("model.logprobs", self._request(
            {}, tokens=_array.to_bytes(tokens, "int32"), temperature=temperature)))

    def convert_messages_to_experience(self, messages, tools=None, temperature=None):
        """A whole conversation as one experience, in which the assistant's messages are trained."""
        return wire.sampled(self._up("model.convert", self._request({}, messages=list(messages), tools=tools)))

    async def convert_messages_to_experience_async(self, messages, tools=None, temperature=None):
        return wire.sampled(await self._up_async("model.convert", self._request({}, messages=list(messages),
                                                                                tools=tools)))

    async def get_message_token_len(self, messages):
        """How many tokens a conversation has as a prompt."""
        return await self._up_async("model.count", self._request({}, messages=list(messages)))

    # History.

    def extract_experience_from_history(self, clear_history=True, key=None):
        """All that was sampled so far, or with a key what is recorded under it."""
        if key is not None:
            return self._recorded(key, clear_history)
        history = list(self.history)
        if clear_history:
            self.history.clear()
        return history

    def clone_with_isolated_history(self):
        other = copy.copy(self)
        other.history, other.workflow_state, other._clients = [], {}, {}
        return other

    clone_with_isolated_state = clone_with_isolated_history

    # Clients.

    def get_openai_client(self):
        """A client of the package openai whose calls of chat.completions.create are sampled here and recorded."""
        if "sync" not in self._clients:
            self._clients["sync"] = self._client(_clients.Light, _clients.recording)
        return self._clients["sync"]

    def get_openai_async_client(self):
        """The same for coroutines."""
        if "async" not in self._clients:
            self._clients["async"] = self._client(_clients.LightAsync, _clients.recording_async)
        return self._clients["async"]

    def _client(self, light, recording):
        if self._auxiliary is not None:
            return light(self)
        _clients.need_openai()
        client = recording(self, {"base_url": self.base_url, "api_key": self.api_key})
        client.model_path = self.model_path
        return client

    @property
    def base_url(self):
        """The URL of OpenAI's interface at which this run, and nobody else, asks the model. Calls of any program there are
        recorded."""
        if self.api_address is None:
            self.api_address = self._up("model.url", {})["base_url"].removesuffix("/v1")
        return self.api_address + "/v1"

    # What it is.

    @property
    def model_path(self):
        return self.config.model_path

    @property
    def model_name(self):
        return self.config.name or self.config.model_path

    @property
    def model_config(self):
        return self.config

    @property
    def model_version(self):
        return self._version

    @property
    async def model_version_async(self):
        return self._version

    @property
    def api_key(self):
        """The key of the run, BATCH/TASK/RUN. The model answers whatever key it gets."""
        return self._key or self.config.api_key

    def set_api_key(self, api_key):
        self._key = api_key

    @property
    def generate_kwargs(self):
        known = {"temperature": self.config.temperature, "top_p": self.config.top_p, "top_k": self.config.top_k,
                 "max_tokens": self.config.max_response_tokens}
        return {k: v for k, v in known.items() if v is not None}

    # State that a workflow may leave for other code.

    async def set_workflow_state(self, state):
        self.workflow_state.update(state)

    async def clean_workflow_state(self):
        self.workflow_state = {}

    async def get_workflow_state(self):
        return dict(self.workflow_state)

    def get_lora_request(self):
        """None: the model is asked as it is trained."""

    async def get_lora_request_async(self):
        """None."""

    def _engine(self, *_, **__):
        raise NotImplementedError("weights, addresses and load of the engine are the trinity binary's")

    get_available_address_async = get_current_load = init_process_group = teardown_process_group = _engine
    set_state_dict_meta = sync_model_weights = sync_model = _engine

    async def prepare(self):
        pass

    async def shutdown(self):
        pass


_NOT_SAMPLING = {"enable_recording", "logprobs", "lora_request", "with_chat_completion", "return_token_ids", "model", "stream", "timeout",
                 "extra_body", "repetition_penalty", "min_tokens", "skip_special_tokens"}


def _logprobs(answer):
    return _array.from_bytes(answer["logprobs"], "float32")
