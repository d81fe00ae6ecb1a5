"""Examines landed geometry that nobody vouches for: what it is, what is wrong with it, and its place in EPSG:4326.

Vectorised over batches, for pandas UDFs: no value raises, and one bad row costs the others nothing.
"""

from geostrata.geometry.examining import examine
from geostrata.geometry.points import examine_points
from geostrata.geometry.results import SPARK_TYPE

__all__ = ["SPARK_TYPE", "examine", "examine_points"]
