"""Exact spatial work on whole batches: GEOS and geodesics, behind indexes that never change an answer."""
