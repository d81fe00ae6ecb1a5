"""The adapter: dbt-spark's, with what a Delta and Sedona session of our own makes possible."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.base import BaseRelation, PythonJobHelper, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.sedona import (
    catalog,
    docs_pages,
    driver_tables,
    errors,
    forbidden,
    python_macros,
    relations,
    session,
)
from dbt.adapters.sedona.connections import SedonaConnectionManager
from dbt.adapters.sedona.delta_log import TableLog
from dbt.adapters.sedona.input_versions import InputVersions
from dbt.adapters.sedona.model_code import ModelCode
from dbt.adapters.sedona.python_models import SessionPythonJobHelper
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.clients.agate_helper import build_type_tester
from dbt_common.contracts.config.base import MergeBehavior
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_sedona_text import identifier as quoted_name
from dbt_sedona_text import literal, printable

if TYPE_CHECKING:
    import agate

# These talk to tables; the others (parse, ls, clean, deps) never need Spark.
_COMMANDS_THAT_QUERY = {
    "build",
    "run",
    "test",
    "seed",
    "snapshot",
    "show",
    "generate",
    "run-operation",
    "freshness",
}


# What dbt and its adapters bring: not the project's own code.
_INTERNAL_PACKAGES = ("dbt", "dbt_spark", "dbt_sedona")


@dataclass
class SedonaConfig(SparkConfig):
    # What a model declares comes on top of what its folder declares; dbt would put it in its place.
    tblproperties: dict[str, Any] = field(default_factory=dict, metadata=MergeBehavior.Update.meta())


@dataclass
class SedonaColumn(SparkColumn):
    @property
    def quoted(self) -> str:
        return quoted_name(self.column)


@dataclass(frozen=True, eq=False, repr=False)
class SedonaRelation(SparkRelation):
    def quoted(self, identifier: str) -> str:
        return quoted_name(identifier)


class SedonaAdapter(SparkAdapter):
    ConnectionManager = SedonaConnectionManager
    Relation = SedonaRelation
    Column = SedonaColumn
    AdapterSpecificConfigs = SedonaConfig

    CONSTRAINT_SUPPORT: ClassVar = {
        # not_null becomes a CHECK: open-source Delta refuses SET NOT NULL on a replaced table.
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }
    _capabilities = CapabilityDict(
        {Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Unsupported)}
    )

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        # `dbt debug` hands over a profile without a project.
        root = Path(getattr(config, "project_root", None) or ".").resolve()
        macro_paths = getattr(config, "macro_paths", None) or ["macros"]
        installed = getattr(config, "packages_install_path", None) or "dbt_packages"
        folders = python_macros.Folders.of_project(root, macro_paths, installed)
        SedonaConnectionManager.use_project(root, folders)
        self._inputs = InputVersions()
        if self._will_query():
            threading.Thread(target=self._start_early, daemon=True).start()

    def _will_query(self) -> bool:
        command = getattr(getattr(self.config, "args", None), "which", None)
        return (
            command in _COMMANDS_THAT_QUERY
            and self.config.credentials.method == SparkConnectionMethod.SESSION
        )

    def _start_early(self) -> None:
        """Spark starts while dbt still parses the project."""
        try:
            SedonaConnectionManager.prepared_settings(self.config.credentials)
        except Exception:  # the first connection meets the same trouble and reports it properly
            return

    def cleanup_connections(self) -> None:
        """dbt's last call of a command: pages of docs are there by now."""
        super().cleanup_connections()
        if getattr(getattr(self.config, "args", None), "which", None) == "generate":
            docs_pages.make_safe(Path(self.config.project_target_path))

    @property
    def default_python_submission_method(self) -> str:
        return "session"

    @property
    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        return {"session": SessionPythonJobHelper}

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> AdapterResponse:
        """A Python model is cancelled, retried and watched as a statement is."""
        handle = self.connections.get_thread_connection().handle
        with self._model_inputs().in_commit(self):
            return handle.run_python(
                lambda: super(SedonaAdapter, self).submit_python_job(parsed_model, compiled_code)
            )

    def post_model_hook(self, config: Any, context: Any) -> None:
        self._model_inputs().leave()

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        with self._model_inputs().in_commit(self):
            return super().execute(sql, auto_begin, fetch, limit)

    @contextmanager
    def commit_settings(self, settings: dict[str, str]) -> Iterator[None]:
        """Settings that Delta reads when it commits. A session takes them at once; as SQL statements the six of a model cost about 0.4 s."""
        spark = self.spark_session()
        for name, value in settings.items():
            if spark is None:
                self.execute(f"set {name} = {value}")
            else:
                spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in settings:
                if spark is None:
                    self.execute(f"reset {name}")
                else:
                    spark.conf.unset(name)

    def _model_inputs(self) -> InputVersions:
        """Of the model that this thread is at: dbt names the connection after it."""
        connection = self.connections.get_if_exists()
        self._inputs.enter(connection.name if connection else None)
        return self._inputs

    def spark_session(self) -> Any:
        """This thread's session, or None where a server has it."""
        if self.config.credentials.method != SparkConnectionMethod.SESSION:
            return None
        return session.thread_session(SedonaConnectionManager.prepared_settings(self.config.credentials))

    def table_log(self, name: str) -> TableLog | None:
        spark = self.spark_session()
        return TableLog(spark, name) if spark is not None else None

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """One call to the metastore; `show table extended` asks it once a table."""
        if self.config.credentials.method != SparkConnectionMethod.SESSION:
            return super().list_relations_without_caching(schema_relation)
        # dbt lists in threads of their own, which need no child session for that (some 0.2 s each).
        spark = session.root_session(SedonaConnectionManager.prepared_settings(self.config.credentials))
        return [
            self.Relation.create(
                schema=schema_relation.schema,
                identifier=table.name,
                type=RelationType.View if table.is_view else RelationType.Table,
                is_delta=table.provider == "delta",
                is_iceberg=table.provider == "iceberg",
                is_hudi=table.provider == "hudi",
            )
            for table in relations.list_tables(spark, str(schema_relation.schema))
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        spark = self.spark_session()
        if spark is None:
            return super().get_columns_in_relation(relation)
        try:
            found = relations.columns(spark, relation.render())
        except Exception as error:
            message = errors.one_line(error)
            if message.startswith("[TABLE_OR_VIEW_NOT_FOUND]"):
                return []
            raise DbtDatabaseError(message) from error
        return [
            SedonaColumn(
                column=name,
                dtype=data_type,
                column_index=index,
                table_schema=relation.schema,
                table_name=relation.identifier,
                table_type=relation.type,
            )
            for index, (name, data_type) in enumerate(found)
        ]

    def quote(self, identifier: str) -> str:
        return quoted_name(identifier)

    @available
    def quote_text(self, text: Any) -> str:
        """Text as a literal of SQL."""
        return literal(str(text))

    @available
    def printable(self, text: Any) -> str:
        """Text from a file, for a line of the log."""
        return printable(str(text))

    @available
    def check_properties(self, relation: BaseRelation, properties: dict[str, Any]) -> None:
        """Refuses table properties that make answers wrong."""
        forbidden.check(str(relation), properties.items())

    @available
    @errors.in_one_line
    def delta_properties(self, relation: BaseRelation) -> dict[str, str]:
        """The table properties of a Delta table."""
        spark = self.spark_session()
        if spark is not None:
            return relations.delta_properties(spark, relation.render())
        _, table = self.execute(f"show tblproperties {relation}", fetch=True)
        return {row[0]: row[1] for row in table.rows}

    @available
    @errors.in_one_line
    def unnamed_location(self, relation: BaseRelation, location_root: str | None = None) -> str | None:
        """Where a Delta table lies that the catalog does not know, and that a new table of this name would replace; none if there is none."""
        spark = self.spark_session()
        place = f"{location_root}/{relation.identifier}" if location_root else None
        return relations.unnamed_location(spark, relation.render(), place) if spark else None

    @available
    @errors.in_one_line
    def append_only_table(
        self, relation: BaseRelation, is_known: bool, location_root: str | None = None
    ) -> str | None:
        """How SQL names the append-only table that a rebuild would replace; none if it would replace no such table."""
        name: str | None = relation.render()
        spark = self.spark_session()
        if not is_known:
            location = self.unnamed_location(relation, location_root)
            name = location and f"delta.{quoted_name(location)}"
        if name is None:
            return None
        properties = relations.delta_properties(spark, name) if spark else self.delta_properties(relation)
        return name if properties.get("delta.appendOnly") == "true" else None

    @errors.in_one_line
    def delta_bytes(self, relation: BaseRelation) -> int:
        """Bytes of the data files of a Delta table's present version."""
        spark = self.spark_session()
        if spark is not None:
            return relations.delta_bytes(spark, relation.render())
        _, table = self.execute(f"describe detail {relation}", fetch=True)
        return int(table.rows[0]["sizeInBytes"])

    @available
    @errors.in_one_line
    def table_location(self, relation: BaseRelation) -> str:
        """Where a table's files are."""
        spark = self.spark_session()
        if spark is not None:
            return relations.location(spark, relation.render())
        _, table = self.execute(f"describe detail {relation}", fetch=True)
        return str(table.rows[0]["location"])

    def get_catalog(self, relation_configs: Any, used_schemas: Any) -> tuple[agate.Table, list[Exception]]:
        # dbt hands over a generator, and both this and each schema read it.
        return super().get_catalog(list(relation_configs), used_schemas)

    def _get_one_catalog(self, information_schema: Any, schemas: set[str], used_schemas: Any) -> agate.Table:
        """Of one schema; the last argument is what the project knows, whatever dbt-spark calls it."""
        import agate

        (schema,) = schemas
        known = {(str(node.schema).lower(), str(node.identifier).lower()) for node in used_schemas}
        rows: list[dict[str, Any]] = []
        for relation in self.list_relations(information_schema.database, schema):
            if (str(relation.schema).lower(), str(relation.identifier).lower()) in known:
                rows += catalog.rows_of(self, relation)
        if not rows:
            # agate warns of every type it is told and finds no column for.
            return agate.Table([])
        return agate.Table.from_object(rows, column_types=build_type_tester(catalog.text_columns()))

    @available
    def project_path(self, path: str) -> str:
        """An absolute form of a path that is relative to the project; addresses such as s3a:// stay as they are."""
        return path if "://" in path else str(SedonaConnectionManager.project_root / path)

    @available
    def call_python(self, name: str, **arguments: Any) -> Any:
        """Calls a Python macro that takes this thread's Spark session as its first argument."""
        spark = self.spark_session()
        if spark is None:
            raise DbtRuntimeError(f"call_python: {name} needs a session of our own; this target has none")
        handle = self.connections.get_thread_connection().handle
        return handle.run_python(lambda: python_macros.call(spark, name, arguments))

    @available
    @errors.in_one_line
    def read_input(self, target: Any, relation: Any) -> dict[str, Any]:
        """Notes that this model reads `relation` at its present version: {last, version, has_changed}."""
        return self._model_inputs().read(self, target, relation)

    @available
    @errors.in_one_line
    def is_as_noted(self, target: Any, name: str, content: Any) -> bool:
        """True if an input that is no table is what it was when the rows were written that `target` holds."""
        return self._model_inputs().is_as_noted(self, target, name, content)

    @available
    def note_change(self, name: str, has_changed: bool) -> None:
        """Says of an input that is no Delta table whether it has changed since this model's last run."""
        self._model_inputs().note_change(name, has_changed)

    @available
    def forget_noted(self, name: str) -> None:
        """An input that is no table is not settled: the next run must look at it again, changed or not."""
        self._model_inputs().forget_noted(name)

    @available
    def note_inputs(self) -> None:
        """The next statement writes the model's rows: its commit, and no other, carries what the model was made from."""
        self._model_inputs().arm()

    @available
    def model_variables(self, model: dict[str, Any]) -> list[str]:
        """The names of the variables that a model's SQL and its macros use."""
        return self._model_code(model).variables

    @available
    def rebuild_decision(self, target: Any) -> bool | None:
        """What `must_rebuild` has said of it in this run of the model; none if it was not asked yet."""
        return self._model_inputs().decision(target)

    @available
    @errors.in_one_line
    def must_rebuild(
        self, target: Any, model: dict[str, Any], variables: dict[str, Any], facts: Any, can_rebuild: bool
    ) -> bool:
        """True if what `target` holds can't be brought up to date in parts."""
        digest = self._code_digest(model, variables, facts)
        can_rebuild = can_rebuild and not self._model_code(model).accumulates
        return self._model_inputs().must_rebuild(self, target, digest, can_rebuild)

    @available
    def accumulates(self) -> None:
        """A macro calls it to say that its model's older rows can't be computed again: such a model is never computed whole unasked."""

    @available
    def use_code(self, model: dict[str, Any], variables: dict[str, Any], facts: Any) -> None:
        """All rows of the model are about to be made by its code as it is."""
        self._model_inputs().use_code(self._code_digest(model, variables, facts))

    def _code_digest(self, model: dict[str, Any], variables: dict[str, Any], facts: Any) -> str | None:
        """None for a model that never asks what is new: dbt's own rules hold for it."""
        code = self._model_code(model)
        if not code.names_inputs:
            return None
        return code.digest(variables, facts, SedonaConnectionManager.python_macro_folders.files())

    def _model_code(self, model: dict[str, Any]) -> ModelCode:
        return ModelCode(model, self.get_macro_resolver(), _INTERNAL_PACKAGES)

    @available
    @errors.in_one_line
    def noted_value(self, target: Any, name: str) -> str | None:
        """What the newest run that wrote rows to `target` noted under this name."""
        return self._model_inputs().noted_value(self, target, name)

    @available
    def note_value(self, name: str, value: Any) -> None:
        self._model_inputs().note_value(name, value)

    @available
    @errors.in_one_line
    def only_appends(self, relation: Any, first_version: int, last_version: int) -> bool:
        """True if no commit among these takes back or changes what another one of them has added."""
        return self._model_inputs().only_appends(self, relation.render(), first_version, last_version)

    @available
    def has_nothing_new(self) -> bool:
        """True if this model named its inputs and none has changed since the table's last run."""
        return self._model_inputs().nothing_new()

    @available
    def set_incremental_strategy(self, strategy: str) -> None:
        """For this run only: what a model finds out while it is compiled may ask for another strategy."""
        self._model_inputs().strategy = strategy

    @available
    def incremental_strategy(self) -> str | None:
        return self._model_inputs().strategy

    @available
    def set_replace_predicate(self, predicate: str) -> None:
        self._model_inputs().replace_predicate = predicate

    @available
    def replace_predicate(self) -> str | None:
        return self._model_inputs().replace_predicate

    @available
    @errors.in_one_line
    def replace_on_driver(self, source: BaseRelation, target: BaseRelation) -> bool:
        """Replaces the rows that this model names, where the driver has the new ones at hand; False where Spark has to do it."""
        spark, predicate = self.spark_session(), self.replace_predicate()
        if spark is None or predicate is None:
            return False
        handle = self.connections.get_thread_connection().handle
        inputs = self._model_inputs()
        inputs.arm()
        with inputs.in_commit(self):
            replaced = handle.run_python(
                lambda: driver_tables.replace_rows(spark, target.render(), source.render(), predicate)
            )
        return bool(replaced)
