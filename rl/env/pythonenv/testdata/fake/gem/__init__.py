"""Stands for GEM in the tests of the adapter: a registry of one game. What GEM itself does is checked by bench/python-gem."""
from gem.envs.registration import make  # noqa: F401
