"""maintenance.yml as it is written: values, and the line that each one stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from geostrata.errors import GeostrataError


@dataclass(frozen=True)
class Value:
    """A value with its line. Of a mapping, `plain` holds Values by key; of a list, Values in order."""

    plain: Any
    line: int

    def items(self) -> Iterator[tuple[str, Value]]:
        yield from self.plain.items()

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.plain, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.plain, list)


def load(path: Path) -> Value:
    if not path.is_file():
        raise GeostrataError(f"{path} is not there: docs/maintenance.md shows one to begin with")
    try:
        node = yaml.compose(path.read_text(), yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise GeostrataError(f"{path.name}{where}: no YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(node, yaml.MappingNode):
        raise GeostrataError(f"{path.name}: it must hold `version`, `concurrency` and `rules`")
    return _value(node)


def _value(node: yaml.Node) -> Value:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Value({str(key.value): _value(value) for key, value in node.value}, line)
    if isinstance(node, yaml.SequenceNode):
        return Value([_value(item) for item in node.value], line)
    return Value(yaml.safe_load(yaml.serialize(node)), line)
