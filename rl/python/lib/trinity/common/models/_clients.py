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
        return _taken(model, [create(*args, **asked) for asked in _asking(kwargs)], kwargs)

    client.chat.completions.create = recorded
    return client


def recording_async(model, url):
    """The same with openai.AsyncOpenAI."""
    client = need_openai().AsyncOpenAI(base_url=url["base_url"], api_key=url["api_key"])
    create = client.chat.completions.create

    async def recorded(*args, **kwargs):  # one after the other, so that the order of the answers repeats
        return _taken(model, [await create(*args, **asked) for asked in _asking(kwargs)], kwargs)

    client.chat.completions.create = recorded
    return client


def _asking(kwargs):
    """The requests for n answers, since the URL of a run gives one at a time. They also ask for token ids and logprobs, from
    which the experiences are made."""
    n = kwargs.get("n") or 1
    if n > 1 and kwargs.get("stream"):
        raise NotImplementedError(f"n is {n}, and a stream has one answer here; leave n or stream out")
    body = {**(kwargs.get("extra_body") or {}), "return_token_ids": True}
    return [{**{k: v for k, v in kwargs.items() if k != "n"}, "extra_body": body, "logprobs": kwargs.get("logprobs", True)}] * n


def _taken(model, answers, kwargs):
    """What the workflow gets: a stream, or one answer with all choices. They are in the history, too."""
    if kwargs.get("stream"):
        return _Stream(model, answers[0], kwargs)
    first = answers[0]
    for answer in answers:
        _record(model, answer.model_dump(), kwargs)
        if answer is not first:
            answer.choices[0].index = len(first.choices)
            first.choices.append(answer.choices[0])
            first.usage.completion_tokens += answer.usage.completion_tokens
            first.usage.total_tokens += answer.usage.completion_tokens
    return first


def _record(model, data, kwargs):
    prompt = data.get("prompt_token_ids") or (data["choices"][0].get("prompt_token_ids") if data["choices"] else None)
    for choice in data["choices"]:
        tokens = choice.get("token_ids")
        said = (choice.get("logprobs") or {}).get("content") or []
        if not prompt or not tokens:
            continue
        model.history.append(Experience(
            tokens=list(prompt) + list(tokens), prompt_length=len(prompt),
            logprobs=[x["logprob"] for x in said] if len(said) == len(tokens) else [0.0] * len(tokens),
            response_text=choice["message"].get("content") or "", messages=list(kwargs.get("messages") or []),
            truncate_status="response_truncated" if choice.get("finish_reason") == "length" else None))


class _Stream:
    """A stream of openai that becomes an experience when it has ended or is closed."""

    def __init__(self, model, stream, kwargs):
        self._model, self._stream, self._kwargs = model, stream, kwargs
        self._data = {"choices": []}

    def _see(self, chunk):
        data = chunk.model_dump()
        self._data["prompt_token_ids"] = self._data.get("prompt_token_ids") or data.get("prompt_token_ids")
        for part in data.get("choices") or []:
            if not self._data["choices"]:
                self._data["choices"].append({"token_ids": [], "logprobs": {"content": []}, "message": {"content": ""}})
            whole = self._data["choices"][0]
            whole["token_ids"] += part.get("token_ids") or []
            whole["logprobs"]["content"] += (part.get("logprobs") or {}).get("content") or []
            whole["message"]["content"] += (part.get("delta") or {}).get("content") or ""
            whole["finish_reason"] = part.get("finish_reason") or whole.get("finish_reason")
        return chunk

    def _end(self):
        data, self._data = self._data, {"choices": []}
        _record(self._model, data, self._kwargs)

    def __iter__(self):
        try:
            for chunk in self._stream:
                yield self._see(chunk)
        finally:
            self._end()

    async def __aiter__(self):
        try:
            async for chunk in self._stream:
                yield self._see(chunk)
        finally:
            self._end()

    def __next__(self):
        try:
            return self._see(next(self._stream))
        except StopIteration:
            self._end()
            raise

    async def __anext__(self):
        try:
            return self._see(await self._stream.__anext__())
        except StopAsyncIteration:
            self._end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()

    def close(self):
        self._end()
        return self._stream.close()

    def __getattr__(self, name):
        return getattr(self._stream, name)


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
