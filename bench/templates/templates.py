"""Renders every template of a folder with transformers' own renderer, for TestTemplates of package chat.

    python templates.py DIR OUT

DIR holds chat templates (*.jinja) and tokenizer_config.json files, at any depth. OUT gets one JSON line for
each template with its name, its text and its cases: a conversation, the options, and what
apply_chat_template gives: the text, the ids, the mask of the assistant's tokens where the template has
{% generation %}, or the error. The clock stands at 2026-01-02 03:04:05. No special token of the tokenizer is
added to what the template writes.
"""
import datetime as real, json, logging, os, re, sys
import transformers.utils.chat_template_utils as hf
from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
BOS = "<|begin|>"


class Fixed(real.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 3, 4, 5)


hf.datetime = Fixed
logging.disable(logging.WARNING)


def tool(name, description, **properties):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {"type": "object", "properties": properties, "required": list(properties)[:1]}}}


TOOLS = [
    tool("get_weather", 'The <weather> & "wind" of a city\'s day\nin one line', city={"type": "string", "description": "such as Zürich"}, unit={"type": "string", "enum": ["C", "F"], "default": "C"}),
    tool("add", "Adds.", a={"type": "number"}, b={"type": ["number", "null"]}, more={"type": "array", "items": {"type": "integer"}, "description": "further ones"}, deep={"type": "object", "properties": {"x": {"type": "boolean"}}}),
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}},
]


def call(name, id="abcdefghi", **arguments):
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


USER, SYSTEM = said("user", "  Weather in Zürich?\n"), said("system", "Be brief. 🙂 ")
CHATS = {
    "user": [USER],
    "system": [SYSTEM, USER],
    "developer": [said("developer", "Be brief."), USER],
    "turns": [SYSTEM, said("user", "Hi"), said("assistant", "Yo é <b>&amp;</b>"), said("user", "2+2?"), said("assistant", "\n\nIt is 4.\n")],
    "turns, open": [said("user", "Hi"), said("assistant", "Yo"), said("user", "{{ 2 }} {% raw %}")],
    "begins with the assistant": [said("assistant", "Hello"), said("user", "Hi")],
    "two users": [said("user", "Hi"), said("user", "there"), said("assistant", "Yo"), said("assistant", "Yes?")],
    "empty": [said("user", ""), said("assistant", "")],
    "thinks in the text": [said("user", "a"), said("assistant", "<think>\nhm\n</think>\n\nYo"), said("user", "b"), said("assistant", "<think>\nso\n</think>\n\nfour")],
    "reasoning": [said("user", "a"), said("assistant", "Yo", reasoning_content="long thought\n"), said("user", "b"), said("assistant", "four", reasoning_content="so")],
    "call": [USER, said("assistant", "", tool_calls=[call("get_weather", city="Zürich", unit="C")])],
    "call and result": [SYSTEM, USER, said("assistant", "", tool_calls=[call("get_weather", city="Zürich")]), said("tool", '{"deg": 20, "w": "<fair>"}', name="get_weather", tool_call_id="abcdefghi")],
    "call, result, answer": [USER, said("assistant", "Let me see.", tool_calls=[call("add", a=1, b=None, more=[1, 2], deep={"x": True, "y": "é"})]), said("tool", "3", name="add", tool_call_id="abcdefghi"), said("assistant", "It is 3."), said("user", "Thanks")],
    "two calls": [USER, said("assistant", "", tool_calls=[call("get_weather", city="A"), call("now", id="jklmnopqr")]), said("tool", "20", name="get_weather", tool_call_id="abcdefghi"), said("tool", "[1, 2]", name="now", tool_call_id="jklmnopqr"), said("assistant", "20.")],
    "reasoning and calls": [USER, said("assistant", "", tool_calls=[call("now")], reasoning_content="I need the time."), said("tool", "noon", name="now", tool_call_id="abcdefghi"), said("assistant", "Noon.", reasoning_content="So."), said("user", "And now?"), said("assistant", "", tool_calls=[call("now", id="000000001")], reasoning_content="Again."), said("tool", "one", name="now", tool_call_id="000000001")],
    "arguments as text": [USER, said("assistant", "", tool_calls=[{"type": "function", "id": "abcdefghi", "function": {"name": "now", "arguments": '{"a": 1.50, "b": [ ]}'}}]), said("tool", "noon", name="now", tool_call_id="abcdefghi")],
}
OPTIONS = [
    {}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "enable_thinking": False}, {"add_generation_prompt": True, "enable_thinking": True}, {"continue_final_message": True},
    {"tools": TOOLS}, {"tools": TOOLS, "add_generation_prompt": True}, {"tools": TOOLS, "add_generation_prompt": True, "enable_thinking": False}, {"tools": TOOLS[:1], "add_generation_prompt": True, "enable_thinking": True},
]
# Variables that only some templates have: tried with those that name them.
EXTRA = [
    {"thinking": True}, {"thinking": False}, {"reasoning_effort": "high"}, {"builtin_tools": ["browser", "python"]}, {"builtin_tools": ["wolfram_alpha", "code_interpreter"]}, {"date_string": "1 Apr 2025"}, {"tools_in_user_message": False},
    {"model_identity": "You are it."}, {"preserve_thinking": True}, {"clear_thinking": False}, {"keep_past_thinking": True}, {"xml_tools": ["now"]}, {"system_message": "Sys."},
]


def found(folder):
    """Names and texts of the templates below folder, each text once."""
    seen = {}
    for at, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(at, name)
            short = os.path.relpath(path, folder)
            if name.endswith((".jinja", ".jinja2")):
                with open(path, encoding="utf-8", newline="") as f:
                    seen.setdefault(f.read(), short)
            elif name == "tokenizer_config.json":
                with open(path, encoding="utf-8") as f:
                    texts = json.load(f).get("chat_template") or []
                for t in [{"name": "default", "template": texts}] if isinstance(texts, str) else texts:
                    seen.setdefault(t["template"], f"{short}:{t['name']}")
    return sorted((name, text) for text, name in seen.items())


def result(tok, chat, kw, marks):
    try:
        out = {"text": tok.apply_chat_template(chat, tokenize=False, **kw)}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"[:300]}
    out["ids"] = tok.apply_chat_template(chat, return_dict=False, **kw)
    if marks and "continue_final_message" not in kw:
        out["mask"] = tok.apply_chat_template(chat, return_assistant_tokens_mask=True, return_dict=True, **kw)["assistant_masks"]
    return out


def main(folder, path):
    special = {"bos_token": BOS, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    tok = PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "../../hf/tokenizer/testdata/llama3.json"), **special)
    with open(path, "w") as f:
        for name, text in found(folder):
            tok.chat_template = text
            marks = re.search(r"\{\%-?\s*generation\s*-?\%\}", text)
            variants = OPTIONS + [{"add_generation_prompt": True, "tools": TOOLS, **x} for x in EXTRA if next(iter(x)) in text]
            cases = [{"name": f"{chat}; {json.dumps({k: v for k, v in kw.items() if k != 'tools'})}{'; tools' if 'tools' in kw else ''}", "special": special, "chat": CHATS[chat], "kw": kw, **result(tok, CHATS[chat], kw, marks)} for chat in CHATS for kw in variants]
            f.write(json.dumps({"name": name, "template": text, "cases": cases}, ensure_ascii=False) + "\n")


main(*sys.argv[1:])
