"""Imports what is not carried."""
from trinity.common.workflows.envs.alfworld.alfworld_workflow import AlfworldWorkflow
