"""What the unmodified client of Trinity-RFT's proxy gets from `trinity serve`: the OpenAI clients that it makes for its openai_base_url.

The package imports ray and vLLM, which this client needs nothing of, so its file is loaded alone. The routes of a proxy that explores (/feedback, /commit)
are no part of `trinity serve`; `trinity run` with mode: serve has them.
"""

import asyncio
import importlib.metadata
import importlib.util

from checks import CALLS, FINAL, KEY, QUESTION, STEPS, TOOLS, URL, expect, report, result

package = importlib.util.find_spec("trinity").submodule_search_locations[0]
spec = importlib.util.spec_from_file_location("rft_client_module", f"{package}/explorer/proxy/client.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
CLIENT = module.TrinityClient(URL)
GREEDY = {"model": CALLS, "tools": TOOLS, "temperature": 0, "max_tokens": 60}


def keyed(client):
    """The client with a key of this server: its own is EMPTY, which an inference engine that asks for none accepts."""
    return client.with_options(api_key=KEY, max_retries=0)


def steps():
    """The messages before each turn, and what the turn says."""
    messages = list(QUESTION)
    for i, (name, a, _) in enumerate(STEPS):
        yield list(messages), (name, f'{{"a":{a}}}')
        call = {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": f'{{"a":{a}}}'}}
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": f"call_{i}", "content": result(name, a)}]
    yield messages, FINAL


def said(r):
    m = r.choices[0].message
    return (m.tool_calls[0].function.name, m.tool_calls[0].function.arguments) if m.tool_calls else m.content


def episode():
    expect(CLIENT.openai_base_url, URL + "/v1")
    client = keyed(CLIENT.get_openai_client())
    for messages, want in steps():
        expect(said(client.chat.completions.create(messages=messages, **GREEDY)), want)


def episodes():
    async def all_():
        async with keyed(CLIENT.get_openai_async_client()) as client:
            turns = [turn for turn in steps() for _ in range(4)]
            got = await asyncio.gather(*(client.chat.completions.create(messages=m, **GREEDY) for m, _ in turns))
            expect([said(r) for r in got], [want for _, want in turns])
    asyncio.run(all_())


def alive():
    expect(CLIENT.alive(), True)


report("trinity-rft " + importlib.metadata.version("trinity-rft"), [
    ("chat/completions", "openai_base_url: an episode of two calls and an answer (with this server's key in place of EMPTY)", episode),
    ("chat/completions", "the same, async, 12 at once", episodes),
    ("health", "alive()", alive),
])
