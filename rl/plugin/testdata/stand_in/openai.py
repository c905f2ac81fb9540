"""What stands in tests for the package openai: the one call that plug-in files make, over HTTP, to the real interface."""

import json
import urllib.request


class OpenAI:
    def __init__(self, base_url, api_key):
        self.chat = self.completions = self
        self._url, self._key = base_url, api_key

    def create(self, *, extra_body=None, **asked):
        request = urllib.request.Request(
            self._url + "/chat/completions", json.dumps({**asked, **(extra_body or {})}).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer " + self._key})
        answer = urllib.request.urlopen(request)
        if asked.get("stream"):
            return Stream(answer)
        with answer:
            return Answer(json.load(answer))


class Answer:
    """JSON with attributes."""

    def __init__(self, data):
        for name, value in data.items():
            setattr(self, name, wrapped(value))

    def model_dump(self):
        return {name: unwrapped(value) for name, value in vars(self).items()}


def wrapped(value):
    if isinstance(value, list):
        return [wrapped(v) for v in value]
    return Answer(value) if isinstance(value, dict) else value


def unwrapped(value):
    if isinstance(value, list):
        return [unwrapped(v) for v in value]
    return value.model_dump() if isinstance(value, Answer) else value


class Stream:
    """The chunks of an answer."""

    def __init__(self, answer):
        self.close = answer.close
        self._lines = iter(answer)

    def __iter__(self):
        return self

    def __next__(self):
        for line in self._lines:
            if line.startswith(b"data: {"):
                return Answer(json.loads(line[len(b"data: "):]))
        raise StopIteration
