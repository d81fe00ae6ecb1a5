"""What a person did wrong, or must do."""

from __future__ import annotations


class GeostrataError(Exception):
    """One line: what is wrong, where, and what to do. Printed without a stack trace."""
