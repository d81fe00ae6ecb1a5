"""One line for a person; the stack trace stays in the log."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_sedona_text import printable

P = ParamSpec("P")
T = TypeVar("T")

# Delta aborts a commit that clashes with another writer's. Nothing was written, so the statement can run again.
_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_\w+|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED"
    r"|(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)|MetadataChanged|ProtocolChanged)Exception"
)
_PYTHON_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\w+)')
# What follows a message: the query's text, its plan, the JVM's trace.
_TAIL = re.compile(r"\n\s*== SQL|;\n\s*'?[A-Z+]|\nJVM stacktrace|\n\s+at |\nDriver stacktrace")
# Spark's words around the real reason.
_WRAPPER = re.compile(
    r"Job aborted|Task failed|\[TASK_WRITE_FAILED\]|Exception thrown in|Writing job aborted"
)


def is_conflict(error: BaseException) -> bool:
    return bool(_CONFLICT.search(full_text(error)[:4000]))


def one_line(error: BaseException) -> str:
    """Spark's error class and message, without plans, the query's text and traces."""
    text = printable(full_text(error).replace("\r\n", "\n"))
    if "Traceback (most recent call last)" in text and (message := _python_line(text)):
        return message
    line = " ".join(_TAIL.split(text.strip(), maxsplit=1)[0].split())
    condition = _condition(error)
    return line if not condition or condition in line else f"[{condition}] {line}"


def in_one_line(ask: Callable[P, T]) -> Callable[P, T]:
    """For questions to the JVM that are no SQL statement: they fail as statements do."""

    @functools.wraps(ask)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return ask(*args, **kwargs)
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise DbtDatabaseError(one_line(error)) from error

    return asked


def full_text(error: BaseException) -> str:
    """The root cause's message where Java hides it behind wrappers, else the exception's own."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return str(error)
    text, condition = "", None
    while java is not None:
        message = java.getMessage() or java.getClass().getSimpleName()
        # Sedona's says which function failed, and repeats the cause that follows it.
        if not (text and message in text) or _WRAPPER.match(text):
            text, condition = message, _java_condition(java) or condition
        java = java.getCause()
    return text if not condition or condition in text else f"[{condition}] {text}"


def silence_pyspark() -> None:
    """Spark's Python side prints every failed query as JSON to the terminal; the caller reports it already."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _java_condition(java: Any) -> str | None:
    try:
        return java.getErrorClass()
    except Exception:  # only Spark's own throwables have a class of error
        return None


def _condition(error: BaseException) -> str | None:
    getter = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    try:
        return getter() if getter else None
    except Exception:  # py4j errors offer the method and fail in it
        return None


def _python_line(text: str) -> str | None:
    """A Python function's failure inside a query: where it stood and what it raised."""
    trace = text[text.rindex("Traceback (most recent call last)") :].split("\n\tat ", maxsplit=1)[0]
    frames = [frame for frame in _PYTHON_FRAME.finditer(trace) if "/pyspark/" not in frame["file"]]
    raised = [line for line in trace.splitlines()[1:] if line.strip() and not line.startswith((" ", "\t"))]
    if not frames or not raised:
        return None
    last = frames[-1]
    return f"Python function {last['function']} failed at {last['file']}, line {last['line']}: {raised[0]}"
