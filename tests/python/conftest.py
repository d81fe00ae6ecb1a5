"""For all tests, and for the processes that they start."""

from __future__ import annotations

import os

# The tables of tests have few rows: the JVM's optimising compiler would cost more than it gains (docs/decisions/0003-local-session-settings.md).
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")
