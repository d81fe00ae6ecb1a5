"""Profile and connections: `method: session` runs in our own session, other methods are dbt-spark's."""

from __future__ import annotations

import difflib
import re
import threading
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona import errors, forbidden, progress, python_macros, session
from dbt.adapters.sedona.retry import RetryPolicy, on_conflict
from dbt.adapters.spark.connections import (
    SparkConnectionManager,
    SparkConnectionMethod,
    SparkConnectionWrapper,
    SparkCredentials,
)
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_sedona_text import literal as sql_literal

logger = AdapterLogger("Sedona")

_ANSI = "spark.sql.ansi.enabled"
_SUBSTITUTE = "spark.sql.variable.substitute"
_MASTER = re.compile(r"local(\[(\*|\d+)(,\d+)?\]|-cluster\[\d+,\d+,\d+\])?|spark://.+|yarn|k8s://.+")


@dataclass
class SedonaCredentials(SparkCredentials):
    """dbt-spark's settings and ours. Relative folders are relative to the project."""

    host: str | None = "localhost"
    method: SparkConnectionMethod = SparkConnectionMethod.SESSION
    # Any Spark master: local[*], spark://host:7077, yarn, k8s://...
    master: str = "local[*]"
    driver_memory: str = "4g"
    # Warehouse and embedded metastore live here, logs beside them.
    state_dir: str = ".dbt-sedona"
    log_dir: str | None = None
    # Settings for Spark itself, over ours.
    spark_config: dict[str, Any] = field(default_factory=dict)
    # Modules that every Python worker should have from its first moment: what Python macros import.
    python_preload: list[str] = field(default_factory=list)
    conflict_retries: int = 5
    conflict_retry_base_s: float = 2.0
    conflict_retry_cap_s: float = 30.0

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        known = [f.name for f in fields(cls)]
        for name in data:
            # dbt passes over what it doesn't know, and a slip of the pen would silently mean the default.
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise DbtRuntimeError(
                    f"The profile's field {name} is unknown to dbt-sedona"
                    + (f": did you mean {near[0]}?" if near else f". Known are: {', '.join(known)}")
                )
        return super().__pre_deserialize__(data)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _MASTER.fullmatch(self.master):
            raise DbtRuntimeError(
                f"The profile's master: '{self.master}' is none that Spark knows: "
                "use local[*], local[2], spark://host:port, yarn or k8s://https://host:port"
            )
        for name in ("conflict_retries", "conflict_retry_base_s", "conflict_retry_cap_s"):
            if getattr(self, name) < 0:
                raise DbtRuntimeError(f"The profile's {name} must be 0 or more, got {getattr(self, name)}")
        # dbt-spark switches ANSI mode off whatever the profile says; here the profile has the last word.
        if (ansi := self.spark_config.get(_ANSI)) is not None:
            self.server_side_parameters[_ANSI] = _spark_text(ansi)
        forbidden.check("The profile's spark_config", self.spark_config.items())
        forbidden.check("The profile's server_side_parameters", self.server_side_parameters.items())
        # A server's sessions are not made from our settings.
        self.server_side_parameters[_SUBSTITUTE] = session.SETTINGS[_SUBSTITUTE]

    @property
    def type(self) -> str:
        return "sedona"

    def _connection_keys(self) -> tuple[str, ...]:
        if self.method == SparkConnectionMethod.SESSION:
            return "method", "master", "schema", "state_dir"
        return super()._connection_keys()

    @property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(self.conflict_retries, self.conflict_retry_base_s, self.conflict_retry_cap_s)

    def session_settings(self, project_root: Path) -> session.SessionSettings:
        state_dir = project_root / self.state_dir
        return session.SessionSettings(
            master=self.master,
            state_dir=state_dir,
            log_dir=project_root / self.log_dir if self.log_dir else state_dir / "logs",
            driver_memory=self.driver_memory,
            python_preload=tuple(self.python_preload),
            spark_config=tuple(sorted((key, _spark_text(value)) for key, value in self.spark_config.items())),
        )


class SessionHandle(SparkConnectionWrapper):
    """A DB-API-like handle on one child session."""

    def __init__(self, spark: Any, credentials: SedonaCredentials) -> None:
        self.spark = spark
        self._policy = credentials.retry_policy
        self._group = f"dbt-{uuid.uuid4()}"
        self._frame: Any = None
        self._rows: list[Any] | None = None
        self._cancelled = threading.Event()
        for key, value in credentials.server_side_parameters.items():
            spark.conf.set(key, value)
        session.activate(spark)

    def cursor(self) -> SessionHandle:
        self._frame = self._rows = None
        return self

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        statement = sql.strip().removesuffix(";")
        if bindings:
            statement = statement % tuple(_literal(binding) for binding in bindings)
        forbidden.check_statement(statement)
        self._run(lambda: self._submit(statement))

    def _submit(self, statement: str) -> None:
        self._frame = self.spark.sql(statement)
        self._rows = None

    def run_python(self, run: Any) -> Any:
        """Runs a Python model with the same care as a statement."""
        return self._run(run)

    def force(self) -> None:
        """Evaluates a query whose rows nobody wants: a hook that is a bare SELECT must run all the same."""
        if self._frame is not None and not _already_ran(self._frame):
            self._run(lambda: self._frame.write.format("noop").mode("overwrite").save())

    def fetchall(self) -> list[Any] | None:
        if self._rows is None and self._frame is not None:
            self._rows = self._run(self._frame.collect)
        return self._rows

    def fetchone(self) -> Any:
        rows = self.fetchall()
        return rows.pop(0) if rows else None

    def fetchmany(self, size: int) -> list[Any]:
        """The first rows only (`dbt show`): the rest is never computed."""
        return list(self._run(lambda: self._frame.take(size))) if self._frame is not None else []

    @property
    def description(self) -> Sequence[tuple[str, Any, None, None, None, None, bool]]:
        if self._frame is None:
            return []
        return [
            (column.name, column.dataType.simpleString(), None, None, None, None, column.nullable)
            for column in self._frame.schema.fields
        ]

    def _run(self, action: Any) -> Any:
        self._stop_if_cancelled()
        context = self.spark.sparkContext
        context.setJobGroup(self._group, "dbt", interruptOnCancel=True)
        try:
            with progress.shown(context, self._group):
                return on_conflict(action, self._policy, sleep=self._pause)
        except DbtRuntimeError:
            raise
        except Exception as error:
            logger.debug(f"{type(error).__name__}: {error}")
            self._stop_if_cancelled()
            raise DbtDatabaseError(errors.one_line(error)) from error

    def cancel(self) -> None:
        self._cancelled.set()
        # A statement is several jobs, with pauses between them in which there is nothing to cancel yet.
        self.spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._group, "cancelled by dbt")

    def _pause(self, seconds: float) -> None:
        self._cancelled.wait(seconds)
        self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise DbtDatabaseError("Cancelled") from None

    def close(self) -> None:
        self._frame = self._rows = None

    def rollback(self, *_args: Any, **_kwargs: Any) -> None:
        """Delta commits a statement whole or not at all: there is nothing to roll back."""


class SedonaConnectionManager(SparkConnectionManager):
    TYPE = "sedona"

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        try:
            yield
        except DbtRuntimeError:
            logger.debug(f"Error while running:\n{sql}")
            raise
        except Exception:
            with super().exception_handler(sql):
                raise

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.credentials.method != SparkConnectionMethod.SESSION:
            return super().open(connection)
        if connection.state != ConnectionState.OPEN:
            credentials = connection.credentials
            spark = session.thread_session(cls.prepared_settings(credentials))
            connection.handle = SessionHandle(spark, credentials)
            connection.state = ConnectionState.OPEN
        return connection

    # The adapter fills these in: dbt opens connections by a class method, which knows credentials only.
    project_root: Path = Path.cwd()
    python_macro_folders = python_macros.Folders()
    _prepared: session.SessionSettings | None = None
    _preparing = threading.Lock()

    @classmethod
    def prepared_settings(cls, credentials: SedonaCredentials) -> session.SessionSettings:
        """The session's settings, once the project's Python macros are registered in it."""
        settings = credentials.session_settings(cls.project_root)
        with cls._preparing:
            if cls._prepared != settings:
                session.register_python_macros(settings, cls.python_macro_folders)
                cls._prepared = settings
        return settings

    @classmethod
    def use_project(cls, project_root: Path, python_macro_folders: python_macros.Folders) -> None:
        cls.project_root = project_root
        cls.python_macro_folders = python_macro_folders
        cls._prepared = None

    @classmethod
    def data_type_code_to_name(cls, type_code: Any) -> str:
        """The session's cursor gives whole Spark types; dbt-spark would cut `struct<x_min: double>` at the underscore."""
        is_spark_type = isinstance(type_code, str) and not type_code.endswith("_TYPE")
        return type_code if is_spark_type else super().data_type_code_to_name(type_code)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, Any]:
        response, table = super().execute(sql, auto_begin=auto_begin, fetch=fetch, limit=limit)
        handle = self.get_thread_connection().handle
        if not fetch and isinstance(handle, SessionHandle):
            handle.force()
        return response, table


def _already_ran(frame: Any) -> bool:
    """Spark runs commands (DDL, INSERT, MERGE, SET) at once and keeps their result; only queries are lazy."""
    plan = frame._jdf.queryExecution().logical().getClass().getSimpleName()
    return plan in ("CommandResult", "LocalRelation")


def _spark_text(value: Any) -> str:
    """A YAML value as Spark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _literal(value: Any) -> str:
    """A seed's cell as SQL text. An empty cell is null: dbt-spark's own session writes the word None."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return str(value)
    return sql_literal(str(value))
