"""What the unmodified openai package gets from `trinity serve`. Each check prints one line of JSON; a failed one prints why."""

import asyncio
import importlib.metadata
import json
import os
import traceback

import openai

from trained import train

URL, KEY, BASE = os.environ["TINKER_BASE_URL"], os.environ["TINKER_API_KEY"], "tools"
VERSION = "openai " + importlib.metadata.version("openai")
HOSTED, PLAIN = URL + "/oai/api/v1", URL + "/v1"
QUESTION = [{"role": "user", "content": "What is 3 + 4?"}]
SAME = {"seed": 7, "max_tokens": 40, "temperature": 1.0}
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}} for name in ("add", "sub")]
ANSWER = '<tool_call>\n{"name": "add", "arguments": {"a": 3}}\n</tool_call>'


def client(base=HOSTED, key=KEY, kind=openai.OpenAI):
    return kind(base_url=base, api_key=key, max_retries=0)


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def raises(kind, code, call):
    try:
        call()
    except openai.APIStatusError as e:
        if not isinstance(e, kind) or e.code != code:
            raise AssertionError(f"{type(e).__name__} with code {e.code!r}: {e}, want {kind.__name__} with {code!r}") from e
        return e
    raise AssertionError(f"no {kind.__name__}")


def bits(logprobs):
    return [x.logprob for x in logprobs.content]


def read(stream):
    """The text, thoughts, calls, logprobs and usage of a stream of chat chunks."""
    text, thought, calls, logprobs, finish, usage = "", "", {}, [], None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for c in chunk.choices:
            text += c.delta.content or ""
            thought += getattr(c.delta, "reasoning_content", None) or ""
            for t in c.delta.tool_calls or []:
                name, arguments = calls.get(t.index, ("", ""))
                calls[t.index] = (name + (t.function.name or ""), arguments + (t.function.arguments or ""))
            if c.logprobs:
                logprobs += bits(c.logprobs)
            finish = c.finish_reason or finish
    return text, thought, [calls[i] for i in sorted(calls)], logprobs, finish, usage


def chat():
    r = client().chat.completions.create(model=BASE, messages=QUESTION, logprobs=True, top_logprobs=2, n=2, **SAME)
    expect([c.index for c in r.choices], [0, 1])
    for c in r.choices:
        if not (c.message.content or c.message.reasoning_content) or c.finish_reason not in ("stop", "length"):
            raise AssertionError(c)
        if not all(len(x.top_logprobs) == 2 and x.top_logprobs[0].logprob >= x.logprob for x in c.logprobs.content):
            raise AssertionError("top_logprobs")
    expect(r.usage.completion_tokens, sum(len(c.logprobs.content) for c in r.choices))
    expect(bits(client(PLAIN).chat.completions.create(model=BASE, messages=QUESTION, logprobs=True, **SAME).choices[0].logprobs), bits(r.choices[0].logprobs))


def chat_stream():
    whole = client().chat.completions.create(model=BASE, messages=QUESTION, logprobs=True, **SAME)
    m = whole.choices[0].message
    got = read(client().chat.completions.create(model=BASE, messages=QUESTION, logprobs=True, stream=True, stream_options={"include_usage": True}, **SAME))
    expect(got[:5], (m.content, getattr(m, "reasoning_content", ""), [], bits(whole.choices[0].logprobs), whole.choices[0].finish_reason))
    expect(got[5].total_tokens, whole.usage.total_tokens)


def chat_async():
    async def both():
        async with client(kind=openai.AsyncOpenAI) as c:
            one = await c.chat.completions.create(model=BASE, messages=QUESTION, **SAME)
            text = ""
            async for chunk in await c.chat.completions.create(model=BASE, messages=QUESTION, stream=True, **SAME):
                text += chunk.choices[0].delta.content or ""
            expect(text, one.choices[0].message.content)
            many = await asyncio.gather(*(c.chat.completions.create(model=BASE, messages=QUESTION, **SAME) for _ in range(32)))
            expect({x.choices[0].message.content for x in many}, {text})
    asyncio.run(both())


def chat_stop():
    r = client().chat.completions.create(model=BASE, messages=QUESTION, stop="</think>", **SAME)
    expect(r.choices[0].finish_reason, "stop")
    if "</think>" in (r.choices[0].message.content or ""):
        raise AssertionError(r.choices[0].message.content)


def chat_close():
    """A client that goes away in the middle can ask again at once."""
    stream = client().chat.completions.create(model=BASE, messages=QUESTION, stream=True, **SAME)
    next(iter(stream))
    stream.close()
    client().chat.completions.create(model=BASE, messages=QUESTION, **SAME)


def completions():
    c = client(PLAIN)
    r = c.completions.create(model=BASE, prompt=["3 + 4", "5 + 6"], echo=True, logprobs=1, extra_body={"return_token_ids": True}, **SAME)
    expect([x.text.startswith(p) for x, p in zip(r.choices, ["3 + 4", "5 + 6"])], [True, True])
    ids = [x.prompt_token_ids for x in r.choices]
    again = c.completions.create(model=BASE, prompt=ids, echo=True, logprobs=1, **SAME)
    expect([x.logprobs.token_logprobs for x in again.choices], [x.logprobs.token_logprobs for x in r.choices])
    expect(r.choices[0].logprobs.token_logprobs[0], None)
    stream = c.completions.create(model=BASE, prompt=ids[0], stream=True, **SAME)
    expect("3 + 4" + "".join(x.choices[0].text for x in stream), r.choices[0].text)


def responses():
    c = client()
    same = {"model": BASE, "input": "What is 3 + 4?", "max_output_tokens": 40, "temperature": 1.0, "extra_body": {"seed": 7}}
    r = c.responses.create(**same)
    m = c.chat.completions.create(model=BASE, messages=QUESTION, **SAME).choices[0]
    expect(r.output_text, m.message.content or "")
    thoughts = [p.text for x in r.output if x.type == "reasoning" for p in x.content]
    expect(thoughts, [m.message.reasoning_content] if getattr(m.message, "reasoning_content", None) else [])
    expect(r.status, {"stop": "completed", "length": "incomplete"}[m.finish_reason])
    expect(client(PLAIN).responses.create(**same).output_text, r.output_text)
    text, kinds = "", []
    for e in c.responses.create(stream=True, **same):
        kinds.append(e.type)
        text += e.delta if e.type == "response.output_text.delta" else ""
    expect((text, kinds[:2], kinds[-1]), (r.output_text, ["response.created", "response.in_progress"], "response." + r.status))
    with c.responses.stream(**{**same, "max_output_tokens": 200}) as s:
        kinds = [e.type for e in s]
        done = c.responses.create(**{**same, "max_output_tokens": 200})
        if done.status == "completed":
            expect(s.get_final_response().output_text, done.output_text)
    expect((done.usage.input_tokens, done.usage.total_tokens - done.usage.output_tokens), (r.usage.input_tokens, r.usage.input_tokens))
    e = raises(openai.BadRequestError, None, lambda: c.responses.create(previous_response_id=r.id, **same))
    expect(e.param, "previous_response_id")


def responses_tools():
    path = train(BASE, QUESTION, TOOLS, ANSWER)
    tools = [{"type": "function", "strict": False, **t["function"]} for t in TOOLS]
    asked = {"model": path, "input": QUESTION, "tools": tools, "temperature": 0, "store": False}
    for choice in ("auto", "required", {"type": "function", "name": "add"}):
        r = client().responses.create(tool_choice=choice, **asked)
        expect([(x.type, x.name, json.loads(x.arguments)) for x in r.output], [("function_call", "add", {"a": 3})])
        with client().responses.stream(tool_choice=choice, **asked) as s:
            arguments = "".join(e.delta for e in s if e.type == "response.function_call_arguments.delta")
            expect(json.loads(arguments), {"a": 3})
            expect([(x.type, x.name) for x in s.get_final_response().output], [("function_call", "add")])
    call = r.output[0]
    second = client().responses.create(model=path, input=[*QUESTION, call, {"type": "function_call_output", "call_id": call.call_id, "output": "7"}], tools=tools,
                                       max_output_tokens=40, temperature=1.0, extra_body={"seed": 7})
    turn = QUESTION + [{"role": "assistant", "content": "", "tool_calls": [{"id": call.call_id, "type": "function", "function": {
        "name": "add", "arguments": call.arguments}}]}, {"role": "tool", "tool_call_id": call.call_id, "content": "7"}]
    chat = client().chat.completions.create(model=path, messages=turn, tools=TOOLS, **SAME)
    expect((second.output_text, second.usage.input_tokens), (chat.choices[0].message.content or "", chat.usage.prompt_tokens))


def models():
    cards = {m.id: m for m in client().models.list()}
    expect(cards[BASE].kind, "base")
    expect(client().models.retrieve(BASE).max_model_len, cards[BASE].max_model_len)


def errors():
    c = client()
    e = raises(openai.NotFoundError, "model_not_found", lambda: c.chat.completions.create(model="absent", messages=QUESTION))
    expect(e.param, "model")
    raises(openai.BadRequestError, "context_length_exceeded", lambda: c.chat.completions.create(model=BASE, messages=QUESTION, max_tokens=10**6))
    expect(BASE in [m.id for m in client(key="foreign").models.list()], True)  # no key is required, so this is the local tenant
    e = raises(openai.BadRequestError, None, lambda: c.chat.completions.create(model=BASE, messages=QUESTION, extra_body={"no_such_thing": 1}))
    expect(e.param, "no_such_thing")


def tool_calls():
    path = train(BASE, QUESTION, TOOLS, ANSWER)
    expect({m.id: m for m in client().models.list()}[path].parent, BASE)
    want = [("add", '{"a":3}')]
    for name in (path, f"{BASE};{path}"):
        r = client().chat.completions.create(model=name, messages=QUESTION, tools=TOOLS, temperature=0)
        c = r.choices[0]
        expect((c.finish_reason, [(t.function.name, t.function.arguments) for t in c.message.tool_calls or []]), ("tool_calls", want))
    for choice in ("auto", "required", {"type": "function", "function": {"name": "add"}}):
        got = read(client().chat.completions.create(model=path, messages=QUESTION, tools=TOOLS, tool_choice=choice, temperature=0, stream=True))
        expect((got[2], got[4]), (want, "tool_calls"))
    with client().chat.completions.stream(model=path, messages=QUESTION, tools=TOOLS, temperature=0) as s:
        expect(json.loads(s.get_final_completion().choices[0].message.tool_calls[0].function.arguments), {"a": 3})
    turn = QUESTION + [r.choices[0].message, {"role": "tool", "tool_call_id": c.message.tool_calls[0].id, "content": "7"}]
    r = client().chat.completions.create(model=path, messages=turn, tools=TOOLS, **SAME)
    if r.usage.prompt_tokens <= len(QUESTION):
        raise AssertionError(r.usage)
    raises(openai.NotFoundError, "model_not_found", lambda: client(key="tml-another").chat.completions.create(model=path, messages=QUESTION))


CHECKS = [
    ("chat/completions", "whole, n, logprobs, both prefixes", chat),
    ("chat/completions", "stream says what the whole answer says", chat_stream),
    ("chat/completions", "async, stream, 32 at once", chat_async),
    ("chat/completions", "stop", chat_stop),
    ("chat/completions", "a stream that the client closes", chat_close),
    ("chat/completions", "tools: a trained checkpoint calls one; auto, required, by name, stream, the next turn", tool_calls),
    ("completions", "batches, echo, logprobs, token ids, stream", completions),
    ("responses", "as the chat says, both prefixes, stream", responses),
    ("responses", "tools: a trained checkpoint calls one; auto, required, by name, stream, the next turn as the chat's", responses_tools),
    ("models", "list, retrieve", models),
    ("all", "errors have the client's types", errors),
]

for route, what, check in CHECKS:
    try:
        check()
        result = "works"
    except Exception as e:  # noqa: BLE001
        traceback.print_exc()
        result = f"FAILED: {type(e).__name__}: {e}"[:300]
    print(json.dumps({"route": route, "client": VERSION, "what": what, "result": result}), flush=True)
