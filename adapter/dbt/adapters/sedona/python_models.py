"""Python models run in the session that runs the SQL models."""

from __future__ import annotations

import traceback
from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.sedona import errors, session
from dbt.adapters.sedona.connections import SedonaConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError


class SessionPythonJobHelper(PythonJobHelper):
    def __init__(self, parsed_model: dict[str, Any], credentials: Any) -> None:
        self._path = parsed_model["original_file_path"]
        self._code = parsed_model["raw_code"].strip()
        self._credentials = credentials

    def submit(self, compiled_code: str) -> None:
        spark = session.thread_session(SedonaConnectionManager.prepared_settings(self._credentials))
        namespace: dict[str, Any] = {"spark": spark, "__name__": "__dbt_model__"}
        try:
            exec(compile(self._aligned(compiled_code), self._path, "exec"), namespace)  # noqa: S102  # a model is code to run
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise DbtDatabaseError(f"{self._place(error)}{errors.one_line(error)}") from error

    def _aligned(self, compiled_code: str) -> str:
        """Without the blank lines that dbt puts above the file's code: line numbers agree, dbt's own code is below."""
        above = compiled_code[: max(compiled_code.find(self._code), 0)]
        return compiled_code[len(above) :] if not above.strip() else compiled_code

    def _place(self, error: Exception) -> str:
        """The model's own line."""
        if isinstance(error, SyntaxError):
            return f"line {error.lineno}: SyntaxError: "
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self._path
        ]
        name = "" if hasattr(error, "getCondition") else f"{type(error).__name__}: "
        return f"line {frames[-1].lineno}: {name}" if frames else name
