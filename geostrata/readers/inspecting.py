from dataclasses import dataclass


@dataclass
class SourceFacts:
    pass


def inspect(paths: list[str]) -> SourceFacts:
    return SourceFacts()
