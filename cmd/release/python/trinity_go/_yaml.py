"""Configurations as YAML. Scalars are written as JSON, which is YAML."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: dict[str, Any], indent: str = "") -> str:
    """The text of nested dicts, lists of dicts, and scalars."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(f"{indent}{key}:\n{dumps(item, indent + '  ')}")
        elif isinstance(item, list) and item and all(isinstance(x, dict) for x in item):
            rows = [indent + "- " + dumps(x, indent + "  ").lstrip() for x in item]
            lines.append(f"{indent}{key}:\n{''.join(rows)}")
        else:
            lines.append(f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}\n")
    return "".join(lines)


def override(tree: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key such as algorithm.repeat_times."""
    *path, last = key.split(".")
    for part in path:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            raise ValueError(f"the override {key!r} leads below {part!r}, which is no section")
        tree = below
    tree[last] = value
