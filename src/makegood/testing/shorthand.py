"""Plan documents in short, for those who write many: a word for each class of service, and for each part."""

from typing import Any

TOMB = {"class": {"keyed": True, "tombstone": True}}
TOMB_PROBE = TOMB | {"probe": "find"}
KEYED = {"class": {"keyed": True}}
KEYED_PROBE = KEYED | {"probe": "find"}
PROBED = {"probe": "find"}
BARE: dict[str, Any] = {}
FOR_A_MINUTE = {"class": {"keyed": 60}}
FOR_A_MINUTE_PROBE = FOR_A_MINUTE | {"probe": "find"}
READS = {"reads": True}
PIVOT = {"pivot": True}

CLASSES = {"tombstone": TOMB, "keyed": KEYED, "probed": PROBED, "neither": BARE}
"""The four classes of the decisive rule."""


def step(name: str, *given: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A step that is undone by its "cancel", unless something else is given."""
    node: dict[str, Any] = {"step": name, "agent": f"{name}-agent", "action": name}
    node |= {"timeout": 10, "settle": 5, "asks": 2, "retry": {"attempts": 3}, "undoRetry": {"within": 3600}}
    for part in (*given, more):
        node |= part
    if not node.keys() & {"undo", "reads", "pivot"}:
        node["undo"] = "cancel"
    return node


def series(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"series": list(parts)}


def parallel(*branches: dict[str, Any]) -> dict[str, Any]:
    return {"parallel": list(branches)}
