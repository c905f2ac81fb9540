"""What the unmodified ollama package gets from `trinity serve`. Each check prints one line of JSON; a failed one prints why."""

import importlib.metadata
import json
import os
import traceback
import urllib.request

import ollama

from trained import train

URL, KEY, BASE = os.environ["TINKER_BASE_URL"], os.environ["TINKER_API_KEY"], "tools"
VERSION = "ollama " + importlib.metadata.version("ollama")
QUESTION = [{"role": "user", "content": "What is 3 + 4?"}]
OPTIONS = {"seed": 7, "num_predict": 40, "temperature": 1.0}
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}} for name in ("add", "sub")]
ANSWER = '<tool_call>\n{"name": "add", "arguments": {"a": 3}}\n</tool_call>'


def client(**headers):
    return ollama.Client(host=URL, headers=headers)


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def refused(status, text, call):
    try:
        call()
    except ollama.ResponseError as e:
        if e.status_code != status or text not in e.error:
            raise AssertionError(f"{e.status_code} {e.error}, want {status} {text!r}") from e
        return
    raise AssertionError("no ResponseError")


def post(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as r:
        return json.load(r)


def chat():
    own = post("/v1/chat/completions", {"model": BASE, "messages": QUESTION, "seed": 7, "max_tokens": 40})
    want = own["choices"][0]
    for name in (BASE, BASE + ":latest"):
        whole = client().chat(model=name, messages=QUESTION, options=OPTIONS)
        expect((whole.message.content, whole.done_reason), (want["message"]["content"], want["finish_reason"]))
        expect((whole.prompt_eval_count, whole.eval_count), (own["usage"]["prompt_tokens"], own["usage"]["completion_tokens"]))
        lines = list(client().chat(model=name, messages=QUESTION, options=OPTIONS, stream=True))
        expect("".join(x.message.content for x in lines), want["message"]["content"])
        expect([x.done for x in lines], [False] * (len(lines) - 1) + [True])
        if lines[-1].eval_duration <= 0 or lines[-1].total_duration < lines[-1].eval_duration:
            raise AssertionError(f"times {lines[-1]}")


def generate():
    want = post("/v1/completions", {"model": BASE, "prompt": "3 + 4 =", "seed": 7, "max_tokens": 40})["choices"][0]
    got = client().generate(model=BASE, prompt="3 + 4 =", raw=True, options=OPTIONS)
    expect((got.response, got.done_reason), (want["text"], want["finish_reason"]))
    lines = list(client().generate(model=BASE, prompt="3 + 4 =", raw=True, options=OPTIONS, stream=True))
    expect("".join(x.response for x in lines), want["text"])
    expect(client().generate(model=BASE).done_reason, "load")
    expect(client().generate(model=BASE, keep_alive=0).done_reason, "unload")


def lists():
    expect(BASE in [m.model for m in client().list().models], True)
    expect(BASE in [m.model for m in client().ps().models], True)
    shown = client().show(BASE)
    expect(shown.capabilities, ["completion", "tools"])
    expect("<tool_call>" in shown.template, True)
    card = [m for m in get("/v1/models")["data"] if m["id"] == BASE][0]
    expect(shown.modelinfo["trinity.context_length"], card["max_model_len"])


def get(path):
    with urllib.request.urlopen(URL + path) as r:
        return json.load(r)


def tool_calls():
    path = train(BASE, QUESTION, TOOLS, ANSWER)
    mine = client(Authorization="Bearer " + KEY)
    asked = {"model": path, "messages": QUESTION, "tools": TOOLS, "options": {"temperature": 0}}
    message = mine.chat(**asked).message
    expect([(c.function.name, c.function.arguments) for c in message.tool_calls], [("add", {"a": 3})])
    lines = list(mine.chat(**asked, stream=True))
    expect([(c.function.name, c.function.arguments) for x in lines for c in x.message.tool_calls or []], [("add", {"a": 3})])
    after = QUESTION + [message, {"role": "tool", "content": "7", "tool_name": "add"}]
    expect(mine.chat(**{**asked, "messages": after}).done, True)
    refused(404, "not found", lambda: client().chat(**asked))  # without its key


def errors():
    refused(404, "absent", lambda: client().chat(model="absent", messages=QUESTION))
    refused(400, "format is", lambda: client().chat(model=BASE, messages=QUESTION, format="json"))
    refused(400, "repeat_penalty is 1.1", lambda: client().chat(model=BASE, messages=QUESTION, options={"repeat_penalty": 1.1}))


CHECKS = [
    ("api/chat", "as the chat of OpenAI says, whole and as lines, without a key", chat),
    ("api/generate", "as the completion says, whole and as lines; load and unload", generate),
    ("api/tags, api/ps, api/show", "models, those in memory, and what one can do", lists),
    ("api/chat", "tools: a trained checkpoint calls one, whole and as lines, and the next turn", tool_calls),
    ("all", "errors have the client's type", errors),
]

for route, what, check in CHECKS:
    try:
        check()
        result = "works"
    except Exception as e:  # noqa: BLE001
        traceback.print_exc()
        result = f"FAILED: {type(e).__name__}: {e}"[:300]
    print(json.dumps({"route": route, "client": VERSION, "what": what, "result": result}), flush=True)
