"""Makes Sedona's functions, and the project's Python macros, built-ins of Spark.

Sedona registers temporary functions. Spark refuses temporary functions in permanent views and SQL functions, so that a
`view` model with ST_ fails. In the built-in registry they are allowed there, and every session of the JVM has them.
"""

from __future__ import annotations

from typing import Any


def register_sedona(spark: Any) -> None:
    """Copies all functions that the session has beyond Spark's own (Sedona's, aggregates included) to the built-ins."""
    # Sedona's extension registers when a first statement is analysed.
    spark.sql("select 1")
    promote(spark)


def promote(spark: Any, names: set[str] | None = None) -> None:
    """Makes the session's temporary functions built-ins: those named, or all that are no built-in yet."""
    jvm = spark._jvm
    session_registry = spark._jsparkSession.sessionState().functionRegistry()
    module = getattr(getattr(jvm.org.apache.spark.sql.catalyst.analysis, "FunctionRegistry$"), "MODULE$")
    builtin = module.builtin()
    identifiers = jvm.scala.jdk.javaapi.CollectionConverters.asJava(session_registry.listFunction())
    for identifier in identifiers:
        name = identifier.funcName()
        wanted = name in names if names is not None else not builtin.functionExists(identifier)
        if wanted:
            info = session_registry.lookupFunction(identifier).get()
            builder = session_registry.lookupFunctionBuilder(identifier).get()
            builtin.registerFunction(identifier, info, builder)
