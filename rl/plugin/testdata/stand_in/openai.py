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
        with urllib.request.urlopen(request) as answer:
            return Answer(json.load(answer))


class Answer:
    """JSON with attributes."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        value = self._data[name]
        if isinstance(value, list):
            return [Answer(v) if isinstance(v, dict) else v for v in value]
        return Answer(value) if isinstance(value, dict) else value

    def model_dump(self):
        return self._data
