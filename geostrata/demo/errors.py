"""The error that a user can act on."""

from __future__ import annotations

from geostrata.errors import GeostrataError


class DemoError(GeostrataError):
    """What is wrong with a landing folder or with what was asked of it."""
