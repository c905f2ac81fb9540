"""OpenAI's interface to the models: of the package openai for the model that is trained, of our own for judges."""

import json
from types import SimpleNamespace

from trinity.common.experience import Experience


def need_openai():
    """Imports the package openai, or says what is missing."""
    try:
        import openai
    except ImportError as e:
        raise ImportError(
            "get_openai_client() needs the package openai, which this Python does not have: install it (pip install "
            "openai) in the Python that trinity uses (--python or VIRTUAL_ENV chooses it), or ask the model with "
            "self.model.chat(messages)") from e
    return openai


def recording(model, url):
    """An openai.OpenAI whose answers become experiences of the model's history."""
    client = need_openai().OpenAI(base_url=url["base_url"], api_key=url["api_key"])
    create = client.chat.completions.create

    def recorded(*args, **kwargs):
        stream = kwargs.get("stream")
        answer = create(*args, **_asking(kwargs))
        if not stream:
            _record(model, answer, kwargs.get("messages"))
        return answer

    client.chat.completions.create = recorded
    return client


def recording_async(model, url):
    """The same with openai.AsyncOpenAI."""
    client = need_openai().AsyncOpenAI(base_url=url["base_url"], api_key=url["api_key"])
    create = client.chat.completions.create

    async def recorded(*args, **kwargs):
        stream = kwargs.get("stream")
        answer = await create(*args, **_asking(kwargs))
        if not stream:
            _record(model, answer, kwargs.get("messages"))
        return answer

    client.chat.completions.create = recorded
    return client


def _asking(kwargs):
    """A request that also asks for token ids and logprobs, from which the experience is made."""
    if kwargs.get("stream"):
        return kwargs
    body = dict(kwargs.get("extra_body") or {})
    body["return_token_ids"] = True
    return {**kwargs, "extra_body": body, "logprobs": kwargs.get("logprobs", True)}


def _record(model, answer, messages):
    data = answer.model_dump()
    prompt = data.get("prompt_token_ids") or (data["choices"][0].get("prompt_token_ids") if data["choices"] else None)
    for choice in data["choices"]:
        tokens = choice.get("token_ids")
        said = (choice.get("logprobs") or {}).get("content") or []
        if not prompt or not tokens:
            continue
        model.history.append(Experience(
            tokens=list(prompt) + list(tokens), prompt_length=len(prompt),
            logprobs=[x["logprob"] for x in said] if len(said) == len(tokens) else [0.0] * len(tokens),
            response_text=choice["message"].get("content") or "", messages=list(messages or []),
            truncate_status="response_truncated" if choice.get("finish_reason") == "length" else None))


class _Value(SimpleNamespace):
    """An answer of OpenAI's interface: attributes, and the dict that they are."""

    def model_dump(self, **_):
        return {k: _plain(v) for k, v in self.__dict__.items()}

    to_dict = dict = model_dump

    def model_dump_json(self, **_):
        return json.dumps(self.model_dump())

    def __getitem__(self, key):
        return getattr(self, key)

    def get(self, key, other=None):
        return getattr(self, key, other)


def _plain(v):
    if isinstance(v, _Value):
        return v.model_dump()
    return [_plain(x) for x in v] if isinstance(v, list) else v


def _completion(model, texts):
    choices = [_Value(index=i, finish_reason="stop", logprobs=None, message=_Value(
        role="assistant", content=text, tool_calls=None, refusal=None)) for i, text in enumerate(texts)]
    usage = _Value(prompt_tokens=0, completion_tokens=0, total_tokens=0)
    return _Value(id="chatcmpl-auxiliary", object="chat.completion", created=0, model=model.model_name, choices=choices,
                  usage=usage)


def _judge(model, kwargs):
    """The call back for a request to an auxiliary model."""
    if kwargs.get("stream"):
        raise NotImplementedError("auxiliary models answer as a whole here; leave stream=True out")
    if kwargs.get("tools"):
        raise NotImplementedError("auxiliary models answer with text here; leave tools out")
    params = {k: kwargs[k] for k in ("temperature", "n", "seed") if kwargs.get(k) is not None}
    request = {"model": model._auxiliary, "messages": list(kwargs["messages"]), "params": params}
    return {**request, "nth": model._count(request)}


def _models(model):
    card = _Value(id=model.model_name, object="model", created=0, owned_by="trinity")
    return _Value(object="list", data=[card])


class Light:
    """A client of an auxiliary model, with the calls of openai.OpenAI that ask for chat completions. It needs no
    package."""

    def __init__(self, model):
        self.model_path = model.model_path
        self.api_key = model.api_key
        self.base_url = "trinity:auxiliary"
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))
        self.models = SimpleNamespace(list=lambda: _models(model))
        self._model = model

    def _create(self, **kwargs):
        return _completion(self._model, self._model._up("judge.chat", _judge(self._model, kwargs)))


class LightAsync(Light):
    """The same for coroutines."""

    def __init__(self, model):
        super().__init__(model)

        async def cards():
            return _models(model)

        self.models = SimpleNamespace(list=cards)

    async def _create(self, **kwargs):
        return _completion(self._model, await self._model._up_async("judge.chat", _judge(self._model, kwargs)))
