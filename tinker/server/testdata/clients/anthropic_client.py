"""What the unmodified anthropic package gets from `trinity serve`. Each check prints one line of JSON; a failed one prints why."""

import asyncio
import importlib.metadata
import json
import os
import traceback

import anthropic
import openai

from trained import train

URL, KEY, BASE = os.environ["TINKER_BASE_URL"], os.environ["TINKER_API_KEY"], "tools"
VERSION = "anthropic " + importlib.metadata.version("anthropic")
HOSTED, PLAIN = URL + "/anthropic/api", URL
QUESTION = [{"role": "user", "content": "What is 3 + 4?"}]
DRAWN = {"seed": 7, "temperature": 1.0}
SAME = {"model": BASE, "messages": QUESTION, "max_tokens": 40, "extra_body": DRAWN}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = [{"name": name, "description": name, "input_schema": SCHEMA} for name in ("add", "sub")]
FUNCTIONS = [{"type": "function", "function": {"name": name, "description": name, "parameters": SCHEMA}} for name in ("add", "sub")]
ANSWER = '<tool_call>\n{"name": "add", "arguments": {"a": 3}}\n</tool_call>'


def client(base=HOSTED, kind=anthropic.Anthropic, **key):
    return kind(base_url=base, max_retries=0, **(key or {"api_key": KEY}))


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def raises(kind, type_, call):
    try:
        call()
    except anthropic.APIStatusError as e:
        if not isinstance(e, kind) or e.body["error"]["type"] != type_:
            raise AssertionError(f"{type(e).__name__}: {e}, want {kind.__name__} with {type_!r}") from e
        return e
    raise AssertionError(f"no {kind.__name__}")


def blocks(message):
    """The blocks of a message, without the ids of calls."""
    return [(b.type, getattr(b, "text", None) or getattr(b, "thinking", None) or (b.name, b.input)) for b in message.content]


def said(message):
    return blocks(message), message.stop_reason, message.stop_sequence, message.usage.output_tokens


def create():
    m = client().messages.create(**SAME)
    expect((m.type, m.role, m.model), ("message", "assistant", BASE))
    if m.stop_reason not in ("end_turn", "max_tokens") or not m.content or not 0 < m.usage.output_tokens <= 40:
        raise AssertionError(m)
    for c in (client(PLAIN), client(api_key=None, auth_token=KEY)):
        expect(said(c.messages.create(**SAME)), said(m))
    chat = openai.OpenAI(base_url=URL + "/v1", api_key=KEY).chat.completions.create(model=BASE, messages=QUESTION, max_tokens=40, **DRAWN)
    text = chat.choices[0].message
    want = [("thinking", getattr(text, "reasoning_content", None)), ("text", text.content)]
    expect(blocks(m), [(kind, x) for kind, x in want if x])
    expect(m.usage.output_tokens, chat.usage.completion_tokens)


def stream():
    whole = client().messages.create(**SAME)
    kinds, text = [], ""
    for e in client().messages.create(stream=True, **SAME):
        kinds.append(e.type)
        if e.type == "content_block_delta" and e.delta.type == "text_delta":
            text += e.delta.text
    expect((kinds[0], kinds[1], kinds[-2:]), ("message_start", "content_block_start", ["message_delta", "message_stop"]))
    expect(text, "".join(b.text for b in whole.content if b.type == "text"))
    with client().messages.stream(**SAME) as s:
        "".join(s.text_stream)
        expect(said(s.get_final_message()), said(whole))


def concurrent():
    async def all_():
        async with client(kind=anthropic.AsyncAnthropic) as c:
            one = said(await c.messages.create(**SAME))
            many = await asyncio.gather(*(c.messages.create(**SAME) for _ in range(32)))
            expect([said(m) for m in many], [one] * 32)
            async with c.messages.stream(**SAME) as s:
                expect(said(await s.get_final_message()), one)
    asyncio.run(all_())


def parameters():
    c = client()
    m = c.messages.create(**SAME, system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}], metadata={"user_id": "u"},
                          thinking={"type": "enabled", "budget_tokens": 1024}, service_tier="auto")
    again = c.messages.create(**SAME, system="Be brief.")
    expect(said(again), said(m))
    text = "".join(b.text for b in m.content if b.type == "text")
    stop = text[5:8]
    m = c.messages.create(**SAME, system="Be brief.", stop_sequences=["no such text", stop])
    expect((m.stop_reason, m.stop_sequence), ("stop_sequence", stop))
    expect("".join(b.text for b in m.content if b.type == "text"), text[:text.index(stop)])
    begun = c.messages.create(model=BASE, messages=QUESTION + [{"role": "assistant", "content": text[:5]}], max_tokens=5)
    if not begun.content or begun.content[0].text.startswith(text[:5]) and len(text[:5]) > 1:
        raise AssertionError(begun)


def count():
    c = client()
    n = c.messages.count_tokens(model=BASE, messages=QUESTION, system="Be brief.", tools=TOOLS).input_tokens
    u = c.messages.create(model=BASE, messages=QUESTION, system="Be brief.", tools=TOOLS, max_tokens=1).usage
    expect(n, u.input_tokens + u.cache_read_input_tokens)
    u = c.messages.create(model=BASE, messages=QUESTION * 20, max_tokens=1).usage
    again = c.messages.create(model=BASE, messages=QUESTION * 20, max_tokens=1).usage
    if not 0 < again.cache_read_input_tokens <= u.input_tokens + u.cache_read_input_tokens:
        raise AssertionError(again)


def tool_calls():
    path = train(BASE, QUESTION, FUNCTIONS, ANSWER)
    want = ([("tool_use", ("add", {"a": 3}))], "tool_use")
    asked = {"messages": QUESTION, "tools": TOOLS, "max_tokens": 60, "extra_body": {"temperature": 0}}
    for name in (path, f"{BASE};{path}"):
        m = client().messages.create(model=name, **asked)
        expect(said(m)[:2], want)
    for choice in ({"type": "auto", "disable_parallel_tool_use": True}, {"type": "any"}, {"type": "tool", "name": "add"}):
        expect(said(client().messages.create(model=path, tool_choice=choice, **asked))[:2], want)
        with client().messages.stream(model=path, tool_choice=choice, **asked) as s:
            deltas = [e.partial_json for e in s if e.type == "input_json"]
            expect(said(s.get_final_message())[:2], want)
            expect(json.loads("".join(deltas)), {"a": 3})
    result = {"type": "tool_result", "tool_use_id": m.content[0].id, "content": [{"type": "text", "text": "7"}]}
    turn = QUESTION + [{"role": "assistant", "content": m.content}, {"role": "user", "content": [result]}]
    second = client().messages.create(model=path, messages=turn, tools=TOOLS, max_tokens=40, extra_body=DRAWN)
    call = {"id": m.content[0].id, "type": "function", "function": {"name": "add", "arguments": '{"a": 3}'}}
    turn = QUESTION + [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": "7"}]
    chat = openai.OpenAI(base_url=URL + "/v1", api_key=KEY).chat.completions.create(model=path, messages=turn, tools=FUNCTIONS, max_tokens=40, **DRAWN)
    expect("".join(b.text for b in second.content if b.type == "text"), chat.choices[0].message.content or "")
    expect(second.usage.input_tokens + second.usage.cache_read_input_tokens, chat.usage.prompt_tokens)
    raises(anthropic.NotFoundError, "not_found_error", lambda: client(api_key="tml-another").messages.create(model=path, **asked))


def errors():
    c = client()
    for call in (c.messages.create, lambda **a: c.messages.count_tokens(**{k: v for k, v in a.items() if k != "max_tokens"})):
        raises(anthropic.NotFoundError, "not_found_error", lambda call=call: call(model="absent", messages=QUESTION, max_tokens=5))
    client(api_key="foreign").messages.create(**SAME)  # no key is required, so this is the local tenant
    raises(anthropic.BadRequestError, "invalid_request_error", lambda: c.messages.create(model=BASE, messages=QUESTION, max_tokens=20000))
    e = raises(anthropic.BadRequestError, "invalid_request_error", lambda: c.messages.create(**SAME, container="c"))
    if "container" not in e.message:
        raise AssertionError(e.message)
    image = [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://localhost/x.png"}}]}]
    e = raises(anthropic.BadRequestError, "invalid_request_error", lambda: c.messages.create(model=BASE, messages=image, max_tokens=5))
    if "image" not in e.message:
        raise AssertionError(e.message)


CHECKS = [
    ("messages", "whole, both prefixes, both kinds of key, as the chat says", create),
    ("messages", "stream says what the whole message says", stream),
    ("messages", "async, stream, 32 at once", concurrent),
    ("messages", "system, thinking, stop_sequences, an answer that is begun", parameters),
    ("messages", "tools: a trained checkpoint calls one; auto, any, by name, stream, the next turn as the chat's", tool_calls),
    ("messages/count_tokens", "as usage says; tokens from the cache", count),
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
