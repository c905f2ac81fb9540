"""What the unmodified OpenAI Agents SDK gets from `trinity serve`: an agent that takes several turns with tools."""

import asyncio
import importlib.metadata

import agents
import openai

from checks import CALLS, FINAL, KEY, STEPS, TEXT, URL, expect, report, result

agents.set_tracing_disabled(True)
called = []


def tool(name):
    def act(a: int) -> str:
        called.append((name, a))
        return result(name, a)
    act.__name__ = name
    return agents.function_tool(act, strict_mode=False)  # the server refuses strict tools by name: a model writes arguments freely


def agent(kind, base):
    model = kind(model=CALLS, openai_client=openai.AsyncOpenAI(base_url=URL + base, api_key=KEY, max_retries=0))
    settings = agents.ModelSettings(temperature=0, max_tokens=60)
    return agents.Agent(name="sums", model=model, model_settings=settings, tools=[tool("add"), tool("sub")])


def run(kind, base):
    called.clear()
    r = agents.Runner.run_sync(agent(kind, base), TEXT, max_turns=4)
    expect(called, [(name, a) for name, a, _ in STEPS])
    expect(r.final_output, FINAL)
    expect(len(r.raw_responses), 3)
    if not all(x.usage.output_tokens for x in r.raw_responses):
        raise AssertionError([x.usage for x in r.raw_responses])


def run_streamed(kind, base):
    async def go():
        called.clear()
        r = agents.Runner.run_streamed(agent(kind, base), TEXT, max_turns=4)
        text = ""
        async for e in r.stream_events():
            if e.type == "raw_response_event" and e.data.type == "response.output_text.delta":
                text += e.data.delta
        expect((called, text, r.final_output), ([(name, a) for name, a, _ in STEPS], FINAL, FINAL))
    asyncio.run(go())


CHAT, RESPONSES = agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel
report("openai-agents " + importlib.metadata.version("openai-agents"), [
    ("chat/completions", "an agent that calls two tools, one after the other, and answers", lambda: [run(CHAT, b) for b in ("/oai/api/v1", "/v1")] and None),
    ("chat/completions", "the same, streamed", lambda: run_streamed(CHAT, "/v1")),
    ("responses", "an agent that calls two tools, one after the other, and answers", lambda: [run(RESPONSES, b) for b in ("/oai/api/v1", "/v1")] and None),
    ("responses", "the same, streamed", lambda: run_streamed(RESPONSES, "/v1")),
])
