"""Changes to JSON, and to glTF files, which are JSON with numbers beside or inside it."""

from __future__ import annotations

import base64
import binascii
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

Random = random.Random
Tree = dict[str, Any]

# Values for floating-point numbers.
NUMBERS = (0.0, -0.0, -1.0, 1e-300, 1e10, 1e38, 1e39, 1e200, -1e308, np.nan, np.inf, -np.inf)
_LARGEST_FLOAT32 = 3e38
_JSON_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 1 << 31, 1 << 63, 10**30, 0.5, 1e308, "", "a", "VEC3", "SCALAR"),
    *(5120, 5123, 5125, 5126, [], {}, [0], [[]], [1e400], {"a": 1}),
)


def changed_tree(random: Random, tree: Any) -> Any:
    """The tree with one of its values changed, left out or doubled."""
    if not isinstance(tree, dict | list):
        return random.choice(_JSON_VALUES)
    places: list[tuple[Any, Any]] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list) and node[key]:
                todo.append(node[key])
    if not places:
        return random.choice(_JSON_VALUES)
    node, key = random.choice(places)
    what = random.randrange(8)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, list):
        node.append(node[key])
    elif what == 2 and isinstance(node[key], int | float):
        node[key] = node[key] + random.choice((-1, 1, 4, 1000))
    elif what == 3:
        other, other_key = random.choice(places)
        # Through text: a tree that holds itself is not JSON.
        node[key] = json.loads(json.dumps(other[other_key]))
    else:
        node[key] = random.choice(_JSON_VALUES)
    return tree


def _glb_parts(content: bytes) -> tuple[Tree, bytes]:
    """The document and the chunks behind it; ValueError where earlier changes broke them."""
    if len(content) < 20:
        raise ValueError("no chunk")
    (length,) = struct.unpack_from("<I", content, 12)
    return _document(content[20 : 20 + length]), content[20 + length :]


def _document(text: bytes) -> Tree:
    tree = json.loads(text)
    if not isinstance(tree, dict):
        raise ValueError("no document")
    return tree


def _glb(tree: Any, rest: bytes) -> bytes:
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    front = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return front + struct.pack("<I4s", len(text), b"JSON") + text + rest


def _changed_document(random: Random, tree: Any) -> Any:
    for _ in range(random.choice((1, 1, 3))):
        tree = changed_tree(random, tree)
        if not isinstance(tree, dict):
            break
    return tree


def _changed_floats(random: Random, data: bytes, begin: int = 0) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 4, 30))):
        place = random.randrange(begin, len(changed))
        value = random.choice(NUMBERS)
        if np.isfinite(value):
            value = min(max(value, -_LARGEST_FLOAT32), _LARGEST_FLOAT32)
        changed[place : place + 4] = struct.pack("<f", value)
    return bytes(changed[: len(data)])


def _glb_json(random: Random, content: bytes) -> bytes:
    tree, rest = _glb_parts(content)
    return _glb(_changed_document(random, tree), rest)


def _glb_data(random: Random, content: bytes) -> bytes:
    return _changed_floats(random, content, content.index(b"BIN\0"))


def _gltf_json(random: Random, content: bytes) -> bytes:
    return json.dumps(_changed_document(random, _document(content))).encode()


def _gltf_data(random: Random, content: bytes) -> bytes:
    tree = _document(content)
    try:
        buffer = tree["buffers"][0]
        head, _, text = buffer["uri"].partition(",")
        data = _changed_floats(random, base64.b64decode(text))
    except (LookupError, TypeError, AttributeError, binascii.Error) as error:
        raise ValueError("no buffer") from error
    buffer["uri"] = f"{head},{base64.b64encode(data).decode()}"
    return json.dumps(tree).encode()


def _or_a_flip(change: Callable[[Random, bytes], bytes]) -> Callable[[Random, bytes], bytes]:
    def changed(random: Random, content: bytes) -> bytes:
        try:
            return change(random, content)
        except (ValueError, RecursionError):
            # Earlier changes broke it: then a byte is changed.
            place = random.randrange(len(content))
            flipped = content[place] ^ (1 << random.randrange(8))
            return content[:place] + bytes([flipped]) + content[place + 1 :]

    return changed


GLB = tuple(map(_or_a_flip, (_glb_json, _glb_json, _glb_json, _glb_data)))
GLTF = tuple(map(_or_a_flip, (_gltf_json, _gltf_json, _gltf_json, _gltf_data)))
