"""What unmodified LiteLLM gets from `trinity serve`, by its providers of OpenAI's and of Anthropic's interface."""

import asyncio
import importlib.metadata
import json

import litellm

from checks import BASE, CALLS, FINAL, KEY, QUESTION, STEPS, TOOLS, URL, expect, report, result

AT = {"openai": URL + "/v1", "anthropic": URL, "text-completion-openai": URL + "/v1"}
GREEDY = {"max_tokens": 60, "temperature": 0}


def ask(provider, call=litellm.completion, model=BASE, messages=QUESTION, **more):
    return call(model=f"{provider}/{model}", api_base=AT[provider], api_key=KEY, messages=messages, **{**GREEDY, "num_retries": 0, **more})


def put_together(provider, **more):
    return litellm.stream_chunk_builder(list(ask(provider, stream=True, **more)), messages=QUESTION)


def said(r):
    m = r.choices[0].message
    return m.content or "", [(t.function.name, json.loads(t.function.arguments)) for t in m.tool_calls or []], r.choices[0].finish_reason


def whole(provider):
    r = ask(provider)
    if not r.usage.completion_tokens or r.choices[0].finish_reason not in ("stop", "length"):
        raise AssertionError(r)
    expect(said(ask("openai")), said(r))


def stream(provider):
    expect(said(put_together(provider)), said(ask(provider)))


def concurrent(provider):
    async def many():
        return await asyncio.gather(*(ask(provider, call=litellm.acompletion) for _ in range(8)))
    expect([said(r) for r in asyncio.run(many())], [said(ask(provider))] * 8)


def tools(provider):
    """A loop over the turns the weights were trained for, every second one streamed."""
    messages = list(QUESTION)
    for i, (name, a, text) in enumerate(STEPS):
        more = {"model": CALLS, "messages": messages, "tools": TOOLS}
        r = put_together(provider, **more) if i % 2 else ask(provider, **more)
        expect(said(r)[1:], ([(name, {"a": a})], "tool_calls"))
        call = r.choices[0].message.tool_calls[0]
        # None, as the whole answer has it: LiteLLM puts a sentence of its own where a streamed answer's content is "".
        again = {**r.choices[0].message.model_dump(), "content": r.choices[0].message.content or None}
        messages = messages + [again, {"role": "tool", "tool_call_id": call.id, "content": result(name, a)}]
    expect(said(ask(provider, model=CALLS, messages=messages, tools=TOOLS)), (FINAL, [], "stop"))
    r = ask(provider, model=CALLS, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "add"}})
    expect(said(r)[1], [("add", {"a": 3})])


def text_completion():
    same = {"model": f"text-completion-openai/{BASE}", "api_base": URL + "/v1", "api_key": KEY, "prompt": "3 + 4", "max_tokens": 4, "temperature": 0}
    r = litellm.text_completion(echo=True, logprobs=1, **same)
    if not r.choices[0].text.startswith("3 + 4"):
        raise AssertionError(r)
    expect(len(r.choices[0].logprobs.token_logprobs), r.usage.total_tokens)
    expect("3 + 4" + "".join(x.choices[0].text or "" for x in litellm.text_completion(stream=True, **same)), r.choices[0].text)


def errors(provider):
    for kind, more in ((litellm.NotFoundError, {"model": "absent"}), (litellm.BadRequestError, {"max_tokens": 10**6})):
        try:
            litellm.completion(**{"model": f"{provider}/{more.pop('model', BASE)}", "api_base": AT[provider], "api_key": KEY, "messages": QUESTION,
                                  "num_retries": 0, "max_tokens": 5, **more})
        except kind:
            continue
        raise AssertionError(f"no {kind.__name__}")


ROUTES = [("openai", "chat/completions"), ("anthropic", "messages")]
report("litellm " + importlib.metadata.version("litellm"), [
    (route, f"{provider}/: {what}", lambda check=check, provider=provider: check(provider)) for provider, route in ROUTES for what, check in [
        ("whole, as the other provider", whole), ("stream says what the whole answer says", stream), ("async, 8 at once", concurrent),
        ("tools: a loop of two calls, stream, by name", tools), ("errors have the client's types", errors)]
] + [("completions", "text_completion, echo, logprobs, stream", text_completion)])
