"""Registers the calls of rl/plugin with the host."""

from trinity._host import calls
from trinity._plugin import load, operators, readers, rewards, run

calls["plugin.load"] = load.load
calls["workflow.run"] = run.workflow
calls["reward.call"] = rewards.call
calls["operator.run"] = operators.run
calls["reader.read"] = readers.read
