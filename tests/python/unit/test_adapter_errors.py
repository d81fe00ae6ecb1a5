"""One line out of what Spark really says. The samples were taken from a session."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.sedona.errors import in_one_line, is_conflict, one_line
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError


class SparkError(Exception):
    """As pyspark's captured exceptions: a message and a condition."""

    def __init__(self, message: str, condition: str | None = None) -> None:
        super().__init__(message)
        self._condition = condition

    def getCondition(self) -> str | None:  # noqa: N802  # pyspark's name
        return self._condition


class Throwable:
    """As a Java exception seen through py4j."""

    def __init__(
        self, message: str | None, cause: Any = None, condition: str | None = None, kind: str = "Error"
    ):
        self._message, self._cause, self._condition, self._kind = message, cause, condition, kind

    def getMessage(self) -> str | None:  # noqa: N802
        return self._message

    def getCause(self) -> Any:  # noqa: N802
        return self._cause

    def getErrorClass(self) -> str | None:  # noqa: N802
        if self._condition is None:
            raise AttributeError("getErrorClass")
        return self._condition

    def getClass(self) -> Any:  # noqa: N802
        return type("Class", (), {"getSimpleName": lambda _: self._kind})()


class JavaError(Exception):
    """As py4j's Py4JJavaError, whose own text is one long Java trace."""

    def __init__(self, java: Throwable) -> None:
        super().__init__("An error occurred while calling o21.sql.\n: java.lang.Error\n\tat A.b(C.scala:78)")
        self.java_exception = java


SAMPLES = {
    "missing table": (
        SparkError(
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope`.`nothing` cannot be found. Verify the spelling.\n"
            "If you did not qualify the name with a schema, verify it. SQLSTATE: 42P01; line 1 pos 14;\n"
            "'Project [*]\n+- 'UnresolvedRelation [nope, nothing], [], false\n",
            "TABLE_OR_VIEW_NOT_FOUND",
        ),
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope`.`nothing` cannot be found. Verify the spelling. "
        "If you did not qualify the name with a schema, verify it. SQLSTATE: 42P01; line 1 pos 14",
    ),
    "unresolved column below a resolved plan": (
        SparkError(
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `foo` cannot be resolved. Did you mean one of the "
            "following? [`id`]. SQLSTATE: 42703; line 1 pos 7;\nProject ['foo]\n+- SubqueryAlias spark_catalog.x.c\n",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        ),
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `foo` cannot be resolved. Did you mean one of the "
        "following? [`id`]. SQLSTATE: 42703; line 1 pos 7",
    ),
    "syntax": (
        SparkError(
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)\n\n"
            "== SQL ==\nselec 1\n^^^\n",
            "PARSE_SYNTAX_ERROR",
        ),
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)",
    ),
    "condition that the message lacks": (
        SparkError("hm, this is not true", "USER_RAISED_EXCEPTION"),
        "[USER_RAISED_EXCEPTION] hm, this is not true",
    ),
    "constraint, its class once": (
        JavaError(
            Throwable(
                "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint dbt_a (id IS NOT NULL) violated by row with "
                "values:\n - id : null",
                condition="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            )
        ),
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint dbt_a (id IS NOT NULL) violated by row with values: "
        "- id : null",
    ),
    "Sedona's function, named, inside a job": (
        JavaError(
            Throwable(
                "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times\n\tat X.y(Z.scala:1)",
                Throwable(
                    "Exception occurred while evaluating expression ST_GeomFromWKT - inputs: [POINT(, 0], cause: "
                    "Expected number but found End-of-Stream (line 1)",
                    Throwable("Expected number but found End-of-Stream (line 1)"),
                ),
            )
        ),
        "Exception occurred while evaluating expression ST_GeomFromWKT - inputs: [POINT(, 0], cause: "
        "Expected number but found End-of-Stream (line 1)",
    ),
    "a throwable without a message": (
        JavaError(Throwable(None, kind="OutOfMemoryError")),
        "OutOfMemoryError",
    ),
    "a Python function": (
        SparkError(
            "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
            "Traceback (most recent call last):\n"
            '  File "/env/pyspark/worker.py", line 1234, in main\n    process()\n'
            '  File "/project/macros/python/text.py", line 13, in shout\n    return text.upper()\n'
            "           ^^^^^^^^^^\nAttributeError: 'NoneType' object has no attribute 'upper'\n",
        ),
        "Python function shout failed at /project/macros/python/text.py, line 13: "
        "AttributeError: 'NoneType' object has no attribute 'upper'",
    ),
    "a Python function that wraps another error": (
        SparkError(
            "Traceback (most recent call last):\n"
            '  File "/project/macros/python/text.py", line 3, in shout\n    int(text)\nValueError: invalid literal\n\n'
            "During handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\n"
            '  File "/project/macros/python/text.py", line 5, in shout\n    raise Unreadable(text)\n'
            "text.Unreadable: 12x\n"
        ),
        "Python function shout failed at /project/macros/python/text.py, line 5: text.Unreadable: 12x",
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_one_line(name: str) -> None:
    error, expected = SAMPLES[name]
    assert one_line(error) == expected


def test_a_conflict_is_recognised_behind_java_wrappers() -> None:
    conflict = Throwable("a concurrent write", condition="DELTA_CONCURRENT_WRITE")
    assert is_conflict(JavaError(Throwable("Job aborted.", conflict)))
    assert not is_conflict(JavaError(Throwable("Job aborted.", Throwable("disk full"))))


def test_a_question_to_the_jvm_fails_in_one_line() -> None:
    @in_one_line
    def ask(error: Exception) -> None:
        raise error

    with pytest.raises(DbtDatabaseError) as raised:
        ask(ValueError("no such file\n\tat org.apache.hadoop.fs.RawLocalFileSystem.listStatus"))
    assert raised.value.msg == "no such file"
    with pytest.raises(DbtRuntimeError, match="already told"):
        ask(DbtRuntimeError("already told"))
