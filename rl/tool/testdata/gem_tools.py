"""Writes gem_tools.jsonl: what GEM's own tools and ToolEnvWrapper do with answers of a model.

    PYTHONPATH=GEM_CHECKOUT python3 gem_tools.py > gem_tools.jsonl

GEM_CHECKOUT is axon-rl/gem at 4069f2f. Python 3.11 made the file. The package regex may stand in for by re.
"""
import json
import sys
import types

for name, stand_in in {"regex": "re"}.items():
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = __import__(stand_in)
for name in ["msgspec", "requests", "fastmcp", "fastmcp.client", "fastmcp.client.auth", "fastmcp.client.logging",
             "fastmcp.client.sampling", "fastmcp.exceptions"]:
    m = sys.modules[name] = types.ModuleType(name)
    for attribute in ["Client", "BearerAuth", "LogMessage", "RequestContext", "SamplingMessage", "SamplingParams",
                      "ClientError", "ToolError"]:
        setattr(m, attribute, type(attribute, (Exception,), {}))
sys.modules["gem.utils.seeding"] = types.ModuleType("gem.utils.seeding")  # needs numpy, and seeds nothing here
gem = types.ModuleType("gem")  # without what gem/__init__.py registers
gem.__path__ = [p + "/gem" for p in sys.path]
sys.modules["gem"] = gem

from gem.tools.mcp_tool import MCPTool  # noqa: E402
from gem.tools.python_code_tool import PythonCodeTool  # noqa: E402
from gem.tools.search_tool import SearchTool  # noqa: E402
from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: E402
from gem.core import Env  # noqa: E402

PYTHON = [
    "<python>print(1)</python>", "```python\nprint(2)\n```", "```\npython\nprint(3)\n```", "```py\nprint(4)\n```",
    "thought <python>\nprint('a')\n</python> more <python>print('b')</python>",
    "```python\nprint('fence')\n``` <python>print('tag')</python>",
    "<python>print('tag')</python> ```python\nprint('fence')\n```",
    "<python>```python\nprint('in')\n```</python>", "no code", "<python>print(5)", "```python print(6)```",
    "<python>print(1/0)</python>", "<python>print('out'); raise ValueError('bad')</python>",
    "<python>import sys; print('e', file=sys.stderr)</python>", "<python>\n\n  print('  x')</python>",
    "<python>...</python>", "<python>x = </python>", "<python>print('é', '日本', '😀')</python> \\boxed{4}",
    "<python>for i in range(3):\n    print(i)</python>", "<python>exit(3)</python>",
    "```python\nprint(input())\n```", "<PYTHON>print(1)</PYTHON>", "<python>print(1)</python", "```python```",
    "<python>\tprint(7)\t</python>\n```", "a```python\nprint(8)``` b ```python\nprint(9)```",
    "<python>print('no newline', end='')</python>", "<python>pass</python>", "<python>print(floor(2.5))</python>",
]
SEARCH = [
    "<search>a</search>", "x <search> capital of\nChina </search> y <search>b</search>", "<search></search>",
    "<search>open", "search", "</search><search>c</search>", "<search><search>d</search></search>",
    "<Search>e</Search>", "<search>é 日本</search>",
]
RESULT = [{"document": {"contents": "Title\nText one\nand more"}, "score": 0.5},
          {"document": {"contents": "Only a title"}, "score": 0.25}, {"document": {"contents": ""}, "score": -1.5}]
CALL = "<tool_call>%s<tool_name>%s</tool_name>%s<arguments>%s</arguments>%s</tool_call>"
MCP = [
    CALL % ("", "add", "", '{"a": 1, "b": 2.50}', ""), "think " + CALL % ("\n", " add ", "\n", "\n{}\n", "\n") + " end",
    CALL % ("", "add", "", "", ""), CALL % ("", "add", "", "{bad", ""), CALL % ("", "add", "", "[1, 2]", ""),
    CALL % ("x", "add", "", "{}", ""), CALL % ("", "", "", "{}", ""), CALL % ("", "a<b", "", "{}", ""),
    CALL % ("", "one", "", '{"x": "</arguments>"}', ""), CALL % ("", "one", "", "{}", "") + CALL % ("", "two", "", "{}", ""),
    '<tool_call>{"name": "add"}</tool_call>', "<tool_call><tool_name>add</tool_name></tool_call>", "nothing",
    CALL % ("", "add", "", '{"a": 12345678901234567890}', ""), CALL % ("", "add", "", '{} {}', ""),
]


class Counter(Env):
    """Says what it hears."""

    def reset(self, seed=None):
        return "task", {}

    def step(self, action):
        return "heard " + action, 1.0, action == "end", False, {}


def write(**line):
    print(json.dumps(line, ensure_ascii=True))


def episode(name, actions, tools, **options):
    env = ToolEnvWrapper(Counter(), tools, **options)
    obs, info = env.reset(seed=1)
    keep = ["tool_use_counter", "tool_success_counter", "prev_ep_tool_use_counter", "prev_ep_tool_success_counter"]
    steps = []
    for action in actions:
        text, reward, terminated, truncated, i = env.step(action)
        steps.append({"action": action, "text": text, "reward": reward, "done": terminated or truncated,
                      "tool": i["use_tool"], "parsed": i.get("parsed_action", ""),
                      "counters": {k: i[k] for k in keep if k in i}})
    _, again = env.reset(seed=1)
    write(kind="episode", name=name, options=options, instructions=len(obs.split("\n")) > 1, steps=steps,
          again={k: again[k] for k in keep})


for lines in [False, True]:
    tool = PythonCodeTool(keep_error_last_line=lines)
    for action in PYTHON:
        ok, failed, text, parsed = tool.execute_action(action)
        write(kind="python", last_line=lines, action=action, ok=ok, failed=failed, text=text, parsed=parsed)
search = SearchTool(search_url="none")
for action in SEARCH:
    query, parsed, ok = search._parse_action(action)
    write(kind="search", action=action, ok=ok, query=query, parsed=parsed)
write(kind="documents", result=RESULT, text=search._passages2string(RESULT))
mcp = MCPTool.__new__(MCPTool)
for action in MCP:
    name, parsed, arguments, ok = mcp._parse_action(action)
    write(kind="mcp", action=action, ok=ok, name=name, parsed=parsed, arguments=json.dumps(arguments))
mcp.raw_config = {"mcpServers": {"math": {}, "text": {}}}
mcp.get_available_tools = lambda: [
    {"name": "math_add", "description": "Adds \"a\", b: é 😀 <tag> & more", "parameters": {
        "properties": {"a": {"type": "integer"}, "b": {"default": 1.5, "enum": [1, "x", None, True]}},
        "type": "object"}, "server_info": {"is_multi_server": True, "detected_server": "math"}},
    {"name": "math_none", "description": "", "parameters": {"type": "object"}, "server_info": {
        "is_multi_server": True, "detected_server": "math"}}]
write(kind="schemas", lines=mcp.instruction_string().split("<tools>\n")[-1].split("\n</tools>")[0].split("\n"))
good, bad = "<python>print(1)</python>", "<python>1/0</python>"
python = PythonCodeTool()
episode("rewards", [good, bad, "move", "end"], [python], tool_reward=0.05, tool_success_reward=0.25, max_tool_uses=5)
episode("errors", [good, bad, "end"], [python], tool_execute_error_reward=-0.5)
episode("most", [good, good, good, "end"], [python], max_tool_uses=2)
