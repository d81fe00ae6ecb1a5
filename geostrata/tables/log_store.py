"""A log store for local disks on which several processes may commit at once.

Delta's own one loses commits there: of 1,554 that delta-rs had acknowledged beside 31 of Spark, one was gone.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

_NAME = "io.delta.storage.ExclusiveLocalLogStore"
_SETTING = "spark.delta.logStore.file.impl"


def install(spark: Any) -> None:
    """For tables that are opened from now on, in all sessions of this JVM: call it as soon as Spark has started."""
    _define(spark._jvm)
    # The context's own settings, not a session's: Delta reads them when it opens a table.
    spark.sparkContext._jsc.sc().conf().set(_SETTING, _NAME)


def _define(jvm: Any) -> None:
    """Compiles the class with the compiler that Spark brings along, once a JVM."""
    parent = jvm.java.lang.Class.forName(
        "io.delta.storage.LocalLogStore", True, jvm.java.lang.Thread.currentThread().getContextClassLoader()
    )
    loader = parent.getClassLoader()
    if _is_known(jvm, loader):
        return
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook((resources.files("geostrata.tables") / "ExclusiveLocalLogStore.java").read_text())
    code = compiler.getBytecodes()[_NAME]
    # Beside its parent, where Delta finds it from whatever thread it asks.
    handles = jvm.java.lang.invoke.MethodHandles
    handles.privateLookupIn(parent, handles.lookup()).defineClass(code)


def _is_known(jvm: Any, loader: Any) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        jvm.java.lang.Class.forName(_NAME, True, loader)
    except Py4JJavaError:
        return False
    return True
