"""Stands for GEM in the tests of the adapter: a registry of one game. docs/results/python-gem.log compares with GEM itself."""
from gem.envs.registration import make  # noqa: F401
