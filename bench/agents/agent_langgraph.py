"""An agent of LangGraph (create_react_agent; the shipped model's template has no tools): OPENAI_BASE_URL and OPENAI_API_KEY lead it to its rollout."""

import json
import os
import re

from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

with open(os.environ["TRINITY_TASK_FILE"]) as f:
    task = json.load(f)["task"]

agent = create_react_agent(ChatOpenAI(model=os.environ["TRINITY_MODEL"]), [], prompt="Think, then answer.")
said = agent.invoke({"messages": [("user", task["question"])]}, {"recursion_limit": 6})["messages"][-1].content
found = re.search(r"<answer>\s*(-?\d+)\s*</answer>", said)
with open(os.environ["TRINITY_REWARD_FILE"], "w") as f:
    f.write(str(float(bool(found) and found[1] == task["answer"].split("####")[-1].strip())))
