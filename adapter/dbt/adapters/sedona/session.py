"""The Spark session of a dbt process: one JVM, one root session, one child session a dbt thread."""

from __future__ import annotations

import atexit
import os
import shlex
import string
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import dbt_sedona_workers
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.sedona import (
    class_archive,
    errors,
    forbidden,
    functions,
    log_store,
    private,
    python_macros,
    scratch,
)
from dbt.adapters.sedona.jars import jar_paths
from dbt.adapters.sedona.java import find_java, launcher_home
from dbt_common.exceptions import DbtRuntimeError

logger = AdapterLogger("Sedona")

# What each setting buys is measured in docs/decisions/0003-local-session-settings.md.
LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.broadcast.compress": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.ui.enabled": "false",
}
SETTINGS = {
    "spark.sql.extensions": (
        "io.delta.sql.DeltaSparkSessionExtension,org.apache.sedona.sql.SedonaSqlExtensions"
    ),
    # A table that says nothing else, in a hook or a Python model, is a Delta table.
    "spark.sql.sources.default": "delta",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.sedona.core.serde.SedonaKryoRegistrator",
    "spark.ui.showConsoleProgress": "false",
    # Batches for Python are bounded by rows. A bound by bytes makes Spark add up the batch for every row that it writes,
    # and spares little memory: Parquet's reader holds 4,096 rows of whatever width already.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # As dbt-spark has it, also where a Python model reaches the root session: a bad cast is NULL.
    "spark.sql.ansi.enabled": "false",
    # Times are UTC whatever the machine's zone.
    "spark.sql.session.timeZone": "UTC",
    # Text of a model or of a row is no template: `${env:NAME}` in it would be replaced by a variable of this process.
    "spark.sql.variable.substitute": "false",
    # The docs catalog shows nested types whole.
    "spark.sql.debug.maxToStringFields": "1000",
    # The schema is created on first use; a version table from another Hive would only refuse to start.
    "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    "spark.hadoop.hive.metastore.schema.verification": "false",
}
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_PLAIN_SIGNS = frozenset(string.ascii_letters + string.digits + "._-/,*[]()<>@+;")
# How long a JVM may take to end before it is killed: long enough for a busy machine.
_END_S = 120
# JTS's newer overlay and relate engines: more robust and faster on complex polygons.
JVM_OPTIONS = ("-Djts.overlay=ng", "-Djts.relate=ng", "-XX:+UseParallelGC")


@dataclass(frozen=True)
class SessionSettings:
    """All that decides how the JVM starts; two settings that differ need two JVMs."""

    master: str
    state_dir: Path
    log_dir: Path
    driver_memory: str
    python_preload: tuple[str, ...] = field(default=())
    spark_config: tuple[tuple[str, str], ...] = field(default=())

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")


_lock = threading.RLock()
_root: Any = None
_root_settings: SessionSettings | None = None
# Grows when functions are registered: child sessions made before don't know them.
_generation = 0
_current = threading.local()


def root_session(settings: SessionSettings) -> Any:
    """The process's root session, started on first use."""
    global _root, _root_settings
    with _lock:
        if _root is not None and _root_settings != settings:
            logger.debug("The session's settings changed: starting a new JVM")
            stop()
        if _root is None:
            _root = _start(settings)
            _root_settings = settings
            forbidden.check_hadoop(_root)
            functions.register_sedona(_root)
            if settings.is_local:
                # Others may write to the same tables meanwhile: no commit may be made over theirs.
                log_store.install(_root)
        return _root


def thread_session(settings: SessionSettings) -> Any:
    """The calling thread's child session: its own settings and temporary views, on the same tables."""
    root = root_session(settings)
    key = (id(root), _generation)
    if getattr(_current, "key", None) != key:
        with _lock:
            _current.session = root.newSession()
        activate(_current.session)
        _current.key = key
    return _current.session


def activate(spark: Any) -> None:
    """Makes it the JVM's active session of this thread. Outside a query there is none, and Delta takes no default: a call of a
    snapshot's method fails ([DELTA_SPARK_SESSION_NOT_SET]) where what Delta prefetched of it came too late or not at all."""
    spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)


def register_python_macros(settings: SessionSettings, folders: python_macros.Folders) -> None:
    """Makes the project's Python macros built-ins of all sessions made from now on."""
    global _generation
    root = root_session(settings)
    with _lock:
        if names := python_macros.register(root, folders):
            logger.debug(f"Python macros: {', '.join(names)}")
        _generation += 1


def stop(end_s: float = _END_S) -> None:
    """Stops the JVM, so that the next connection starts a fresh one. One that takes longer than `end_s` to end is killed."""
    global _root, _root_settings
    from pyspark import SparkContext

    with _lock:
        if _root is not None:
            _root.stop()
            gateway = SparkContext._gateway
            if gateway is not None:
                gateway.shutdown()
                gateway.proc.stdin.close()
                try:
                    gateway.proc.wait(end_s)
                except subprocess.TimeoutExpired:
                    logger.debug(f"The JVM did not end within {end_s:.0f} s: killed it")
                    gateway.proc.kill()
                    gateway.proc.wait()
            SparkContext._gateway = SparkContext._jvm = None
            _root = _root_settings = None


def _start(settings: SessionSettings) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    for folder in (settings.log_dir, settings.state_dir / "warehouse", settings.state_dir / "tmp"):
        private.make_folder(folder)
    # Derby makes its own folder when the catalog is first asked, and wants none to be there before.
    private.close_folder(settings.state_dir / "metastore")
    atexit.register(private.close_folder, settings.state_dir / "metastore")
    scratch.claim(settings.state_dir)
    config, environment = launch_plan(settings)
    os.environ.update(environment)
    conf = SparkConf(loadDefaults=False).setAll(list(config.items()))
    errors.silence_pyspark()
    try:
        with _launch_arguments(config, scratch.folder(settings.state_dir)):
            SparkContext._ensure_initialized()
            return SparkSession.builder.config(conf=conf).enableHiveSupport().getOrCreate()
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DbtRuntimeError(
            f"Spark did not start on {settings.master}: {reason} "
            f"The JVM's own words are in {settings.log_dir / 'jvm.log'}."
        ) from error


@contextmanager
def _launch_arguments(config: dict[str, str], folder: Path) -> Iterator[None]:
    """Settings go to the new JVM by a file that only its user can read: every user of the machine can read a command line, and
    PySpark would put them all there, secrets included."""
    file = folder / "spark.properties"
    private.write(file, "".join(f"{_property(key)}={_property(value)}\n" for key, value in config.items()))
    given = os.environ.get(_ARGUMENTS)
    # What a machine has in spark-defaults.conf still counts where we say nothing.
    ours = shlex.join(["--properties-file", str(file), "--load-spark-defaults"])
    os.environ[_ARGUMENTS] = f"{ours} {given or 'pyspark-shell'}"
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if given is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = given


def _property(text: str) -> str:
    """As java.util.Properties reads it back: all but plain signs as \\uNNNN."""
    units = text.encode("utf-16-be")
    codes = (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    return "".join(chr(code) if chr(code) in _PLAIN_SIGNS else f"\\u{code:04x}" for code in codes)


def launch_plan(settings: SessionSettings) -> tuple[dict[str, str], dict[str, str]]:
    """The Spark settings and environment variables to start with: all decisions, no side effect on Spark."""
    java = find_java()
    jars = [str(path) for path in jar_paths()]
    environment = {
        "JAVA_HOME": str(launcher_home(java, class_archive.environment_dir() / "java")),
        "DBT_SEDONA_JVM_LOG": str(settings.log_dir / "jvm.log"),
        # Workers must run in this environment, not in whatever python3 the PATH finds.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # pandas-on-Spark, which dbt's Python models import, warns unless this is set.
        "PYARROW_IGNORE_TIMEZONE": "1",
    }
    options = [
        *JVM_OPTIONS,
        f"-Dlog4j2.configurationFile={resources.files('dbt.adapters.sedona') / 'log4j2.properties'}",
        f"-Ddbt.sedona.log={settings.log_dir / 'spark.log'}",
        f"-Dderby.stream.error.file={settings.log_dir / 'derby.log'}",
        f"-Djava.io.tmpdir={scratch.folder(settings.state_dir)}",
    ]
    config = {
        **SETTINGS,
        "spark.app.name": "dbt-sedona",
        "spark.master": settings.master,
        "spark.driver.memory": settings.driver_memory,
        "spark.local.dir": str(scratch.folder(settings.state_dir)),
        "spark.sql.warehouse.dir": str(settings.state_dir / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={settings.state_dir / 'metastore'};create=true"
        ),
    }
    if settings.is_local:
        config |= LOCAL_SETTINGS
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        environment[dbt_sedona_workers.PRELOAD] = ",".join(settings.python_preload)
        config["spark.python.daemon.module"] = dbt_sedona_workers.__name__
        # On the JVM's own class path, behind Spark's jars, they can be served from the class archive.
        environment["SPARK_DIST_CLASSPATH"] = os.pathsep.join(jars)
        options += class_archive.jvm_options(java)
    else:
        config["spark.jars"] = ",".join(jars)
    config |= dict(settings.spark_config)
    # Quoted, because a project may lie in a folder with a blank in its name.
    quoted = [f'"{option}"' for option in options]
    config["spark.driver.extraJavaOptions"] = " ".join(
        [*quoted, config.get("spark.driver.extraJavaOptions", "")]
    ).strip()
    return config, environment
