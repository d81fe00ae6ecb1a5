"""Geostrata: a spatial lakehouse that you run with dbt."""

__version__ = "0.1.0"
