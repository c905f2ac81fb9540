"""Structured output: answers of a form that the request gives, by the clients at their defaults. The model is the shipped one, untrained for it, in a longer
context. STRUCTURED=few checks the openai and anthropic clients, otherwise what is built on them."""

import importlib.metadata
import json
import os
from typing import Literal, Optional

import anthropic
import openai
from pydantic import BaseModel, Field

from checks import KEY, URL, expect, report

BASE = "wide"
ASK = "Is 7 a prime number?"
MESSAGES = [{"role": "user", "content": ASK}]


class Factor(BaseModel):
    base: int = Field(ge=2, le=9)


class Verdict(BaseModel):
    """A verdict."""

    answer: Literal["yes", "no"]
    score: float = Field(ge=0, le=1)
    factors: list[Factor] = Field(max_length=2)
    rest: Optional[bool] = None


class Loose(BaseModel):
    """A verdict without bounds, which the anthropic client takes out of a schema."""

    answer: Literal["yes", "no"]
    prime: bool


def verdict(v):
    if not isinstance(v, (Verdict, Loose)):
        v = Verdict.model_validate_json(v) if isinstance(v, str) else Verdict.model_validate(v)
    return v.answer


OPENAI = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
ANTHROPIC = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)


def chat_parse():
    for seed in range(3):
        m = OPENAI.chat.completions.parse(model=BASE, messages=MESSAGES, response_format=Verdict, seed=seed).choices[0].message
        verdict(m.parsed)


def chat_stream():
    with OPENAI.chat.completions.stream(model=BASE, messages=MESSAGES, response_format=Verdict) as s:
        s.until_done()
        verdict(s.get_final_completion().choices[0].message.parsed)


def chat_json_object():
    said = OPENAI.chat.completions.create(model=BASE, messages=MESSAGES, response_format={"type": "json_object"}, max_tokens=2000, seed=1, temperature=0.1,
        presence_penalty=0, logit_bias={}).choices[0]
    if said.finish_reason == "stop":
        expect(type(json.loads(said.message.content)), dict)


def chat_required():
    tool = openai.pydantic_function_tool(Verdict)  # strict
    for seed in range(3):
        m = OPENAI.chat.completions.parse(model=BASE, messages=MESSAGES, tools=[tool], tool_choice="required", seed=seed).choices[0].message
        verdict(m.tool_calls[0].function.parsed_arguments)


def responses_parse():
    verdict(OPENAI.responses.parse(model=BASE, input=ASK, text_format=Verdict, reasoning={"effort": "low"}).output_parsed)


def responses_stream():
    with OPENAI.responses.stream(model=BASE, input=ASK, text_format=Verdict) as s:
        s.until_done()
        verdict(s.get_final_response().output_parsed)


def responses_strict():
    tool = openai.pydantic_function_tool(Verdict)["function"]
    r = OPENAI.responses.create(model=BASE, input=ASK, tools=[{"type": "function", **tool}, {"type": "web_search"}], tool_choice="required")
    verdict(r.output[-1].arguments)


def refusals():
    for schema, said in (({"type": "array", "uniqueItems": True}, "schema.uniqueItems is not supported"), ({"type": "thing"}, "which is no type")):
        try:
            OPENAI.chat.completions.create(model=BASE, messages=MESSAGES, response_format={"type": "json_schema", "json_schema": {"name": "v", "schema": schema}})
            raise AssertionError("the schema was taken")
        except openai.BadRequestError as e:
            expect((e.param, said in e.message), ("response_format", True))
    try:
        OPENAI.embeddings.create(model=BASE, input="x")
        raise AssertionError("embeddings were given")
    except openai.NotFoundError as e:
        expect("gives no embeddings" in e.message or "give no" in e.message, True)


def penalties():
    ask = {"model": BASE, "prompt": "7", "max_tokens": 30, "temperature": 0, "logprobs": 1}
    plain = OPENAI.completions.create(**ask).choices[0].logprobs
    other = OPENAI.completions.create(**ask, presence_penalty=1.5, frequency_penalty=1.5).choices[0].logprobs
    if len(set(other.tokens)) <= len(set(plain.tokens)):
        raise AssertionError(f"as many tokens repeat with penalties: {plain.tokens}, {other.tokens}")


def anthropic_parse():
    m = ANTHROPIC.messages.parse(model=BASE, max_tokens=2000, messages=MESSAGES, output_format=Loose)
    verdict(m.parsed_output)


def anthropic_any():
    m = ANTHROPIC.messages.create(model=BASE, max_tokens=2000, messages=MESSAGES, tool_choice={"type": "any"}, output_config={"effort": "medium"},
        tools=[{"name": "v", "input_schema": Verdict.model_json_schema(), "strict": True, "defer_loading": True}, {"type": "web_search_20250305", "name": "web_search"}])
    verdict(m.content[-1].input)


def langchain():
    from langchain_openai import ChatOpenAI
    model = ChatOpenAI(model=BASE, base_url=URL + "/v1", api_key=KEY, max_retries=0)
    for method in ("json_schema", "function_calling"):
        verdict(model.with_structured_output(Verdict, method=method).invoke(ASK))


def langchain_ollama():
    from langchain_ollama import ChatOllama
    model = ChatOllama(model=BASE, base_url=URL, client_kwargs={"headers": {"Authorization": "Bearer " + KEY}})
    verdict(model.with_structured_output(Verdict).invoke(ASK))


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic
    model = ChatAnthropic(model_name=BASE, base_url=URL, api_key=KEY, max_retries=0, max_tokens=2000)
    for method in ("json_schema", "function_calling"):
        verdict(model.with_structured_output(Loose, method=method).invoke(ASK))


def instructor_modes():
    import instructor
    for mode in (instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS):
        client = instructor.from_openai(OPENAI, mode=mode)
        verdict(client.chat.completions.create(model=BASE, messages=MESSAGES, response_model=Verdict, max_retries=0))


def pydantic_ai():
    from pydantic_ai import Agent, NativeOutput, ToolOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider
    provider = OpenAIProvider(base_url=URL + "/v1", api_key=KEY)
    for model in (OpenAIChatModel(BASE, provider=provider), OpenAIResponsesModel(BASE, provider=provider)):
        for output in (NativeOutput(Verdict), ToolOutput(Verdict)):
            verdict(Agent(model, output_type=output, retries=0).run_sync(ASK).output)


def litellm_format():
    import litellm
    for name, base in (("openai/", URL + "/v1"), ("ollama_chat/", URL), ("anthropic/", URL)):
        said = litellm.completion(model=name + BASE, api_base=base, api_key=KEY, messages=MESSAGES, response_format=Verdict, max_tokens=2000, num_retries=0)
        message = said.choices[0].message
        verdict(message.content or message.tool_calls[0].function.arguments)


def ollama_format():
    import ollama
    client = ollama.Client(host=URL, headers={"Authorization": "Bearer " + KEY})
    options = {"repeat_penalty": 1.1, "seed": 1}
    verdict(client.chat(model=BASE, messages=MESSAGES, format=Verdict.model_json_schema(), options=options).message.content)
    verdict(client.generate(model=BASE, prompt=ASK, format=Verdict.model_json_schema()).response)
    client.chat(model=BASE, messages=MESSAGES, format="json", options={"num_predict": 20})


def version(name):
    return f"{name} {importlib.metadata.version(name)}"


if __name__ == "__main__":
    if os.environ.get("STRUCTURED") == "few":
        report(version("openai"), [
            ("chat/completions", "structured output: parse, three seeds", chat_parse),
            ("chat/completions", "the same, streamed", chat_stream),
            ("chat/completions", "json_object", chat_json_object),
            ("chat/completions", "a strict tool that must be called", chat_required),
            ("responses", "structured output: parse", responses_parse),
            ("responses", "the same, streamed", responses_stream),
            ("responses", "a strict tool that must be called, beside one of the server's", responses_strict),
            ("completions", "penalties", penalties),
            ("all", "schemas that are refused, embeddings", refusals),
        ])
        report(version("anthropic"), [("messages", "structured output: parse", anthropic_parse), ("messages", "a tool that must be called, beside one of the server's",
            anthropic_any)])
    else:
        report(version("langchain-openai"), [("chat/completions", "with_structured_output: json_schema, function_calling", langchain)])
        report(version("langchain-ollama"), [("api/chat", "with_structured_output", langchain_ollama)])
        report(version("langchain-anthropic"), [("messages", "with_structured_output: json_schema, function_calling", langchain_anthropic)])
        report(version("instructor"), [("chat/completions", "JSON_SCHEMA, TOOLS", instructor_modes)])
        report(version("pydantic-ai-slim"), [("chat/completions, responses", "NativeOutput, ToolOutput", pydantic_ai)])
        report(version("litellm"), [("all", "response_format: openai/, ollama_chat/, anthropic/", litellm_format)])
        report(version("ollama"), [("api/chat, api/generate", "format, repeat_penalty", ollama_format)])
