"""Definitions of a CRS that make PROJ open files of its caller's choice: grids by their path, `+init=` files, pipelines.

Whoever delivers a file writes such a definition. PROJ would wait for ever at a pipe, and read what nobody gave away."""

from __future__ import annotations

import json
import re
from typing import Any

# `+init=epsg:25833` names a code, and is looked up like any other.
_INIT = re.compile(r"\binit\s*=\s*(\S*)", re.IGNORECASE)
_INIT_CODE = re.compile(r"[a-z]+:\w+", re.IGNORECASE)
# grids, nadgrids, geoidgrids, xy_grids, z_grids, file, catalog. A name without a path is one of PROJ's own grids.
_GRIDS = re.compile(r"\b(?:\w*grids|file|catalog)\s*=\s*([^\s+\"]*)", re.IGNORECASE)
_OPERATION = re.compile(
    r"\bproj\s*=\s*(?:pipeline|\w*gridshift|deformation|defmodel|tinshift)\b", re.IGNORECASE
)
_METHOD = re.compile(r"PROJ-based", re.IGNORECASE)
_FILE_IN_WKT = re.compile(
    r"PARAMETERFILE\s*[\[(]\s*\"(?:[^\"]|\"\")*\"\s*,\s*\"((?:[^\"]|\"\")*)\"", re.IGNORECASE
)
_PATH = re.compile(r"[/\\~:]|\.\.")


def opens_files(definition: str) -> bool:
    """Any definition that is not a mere code: a PROJ string, WKT or PROJJSON."""
    if definition.lstrip().startswith("{"):
        return _is_bad_json(definition)
    return _has_bad_words(definition) or any(map(_PATH.search, _FILE_IN_WKT.findall(definition)))


def _has_bad_words(text: str) -> bool:
    return bool(
        _OPERATION.search(text)
        or _METHOD.search(text)
        or any(_PATH.search(name) for name in _GRIDS.findall(text))
        or not all(_INIT_CODE.fullmatch(name) for name in _INIT.findall(text))
    )


def _is_bad_json(text: str) -> bool:
    """Of PROJJSON, a parameter's value is a number, or the name of a file. Names of CRSs may have slashes."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        # PROJ may read it another way: what we can't look into is not handed on.
        return True
    return _is_bad_value("", pairs)


def _is_bad_value(name: str, value: Any) -> bool:
    if isinstance(value, str):
        return _has_bad_words(value) or (name == "value" and bool(_PATH.search(value)))
    if isinstance(value, list | tuple):
        return any(
            _is_bad_value(item[0], item[1])
            if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
            else _is_bad_value(name, item)
            for item in value
        )
    return False
