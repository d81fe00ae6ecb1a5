"""One line for a person; the stack trace stays in the log."""

from __future__ import annotations

import re
from typing import Any

# Delta aborts a commit that clashes with another writer's. Nothing was written, so the statement can run again.
_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_\w+|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED"
    r"|(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)|MetadataChanged|ProtocolChanged)Exception"
)
_PYTHON_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\w+)')
_PYTHON_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Warning)\b.*)$", re.MULTILINE)


def is_conflict(error: BaseException) -> bool:
    return bool(_CONFLICT.search(full_text(error)[:4000]))


def one_line(error: BaseException) -> str:
    """Spark's error class and message, without plans, the query's text and traces."""
    text = full_text(error)
    if "Traceback (most recent call last)" in text and (message := _python_line(text)):
        return message
    text = re.split(r"\n\s*== SQL|;\n'|\nJVM stacktrace|\n\s+at |\nDriver stacktrace", text, maxsplit=1)[0]
    line = " ".join(text.split())
    condition = _condition(error)
    return line if not condition or condition in line else f"[{condition}] {line}"


def full_text(error: BaseException) -> str:
    """The root cause's message where Java hides it behind wrappers, else the exception's own."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return str(error)
    text = ""
    while java is not None:
        text = java.getMessage() or java.getClass().getSimpleName()
        java = java.getCause()
    return f"[{_java_condition(error.java_exception)}] {text}" if _java_condition(error.java_exception) else text  # type: ignore[attr-defined]


def _java_condition(java: Any) -> str | None:
    try:
        return str(java.getErrorClass())
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
    frames = [frame for frame in _PYTHON_FRAME.finditer(text) if "/pyspark/" not in frame["file"]]
    raised = _PYTHON_ERROR.findall(text)
    if not frames or not raised:
        return None
    last = frames[-1]
    return f"Python function {last['function']} failed at {last['file']}, line {last['line']}: {raised[-1]}"
