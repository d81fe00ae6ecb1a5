"""`geostrata add-source`: from files that nobody has described to the models of a new entity, ready to edit.

A look at the files (`geostrata.readers.inspect`, and `sampling` for what it leaves open), then choices, then text, then files:
each step is a module, and only the last one writes.
"""

from geostrata.add_source.command import add_arguments, run

__all__ = ["add_arguments", "run"]
