"""Files are read in a process of their own, which is killed at a file's deadline: Python can interrupt neither GDAL nor a
regular expression, and a library that crashes takes its process along.

One such process is forked off a worker and reads file after file. How that was chosen is in docs/decisions/0013-reader-limits.md.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from geostrata import readers
from geostrata.readers import LandedFile, Refused, SourceSpec, output_schema
from geostrata.readers.limits import FileLimits, beyond

_Result = TypeVar("_Result")
_BATCH, _RESULT, _ERROR = b"b", b"r", b"e"
_PR_SET_PDEATHSIG = 1
# After standard input, output and error.
_FIRST_FREE = 3


def read(file: LandedFile, spec: SourceSpec) -> Iterator[pa.RecordBatch]:
    """As `readers.read`, within the deadline and the memory that the source's limits give a file."""
    schema = output_schema(spec)
    for kind, data in _answers(file.path, file.size, spec.limits, readers.read, (file, spec)):
        if kind == _BATCH:
            yield pa.ipc.read_record_batch(pa.py_buffer(data), schema)


def call(
    path: str, size: int, limits: FileLimits, function: Callable[..., _Result], *arguments: Any
) -> _Result:
    """The result of a function of some module that looks at a file, within the same bounds."""
    (result,) = [
        pickle.loads(data)  # noqa: S301  # of our own process
        for kind, data in _answers(path, size, limits, function, arguments)
        if kind == _RESULT
    ]
    return result


@dataclass(frozen=True)
class _Reader:
    pid: int
    connection: Connection
    # All that it writes to disk: gone with it, even if it was killed.
    folder: str

    def end(self) -> int:
        """The signal that it died of, which is not ours if it was dead already; 0 if it ended by itself."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.connection.close()
        _, status = os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


# Of each process that has forked some: a fork of ours inherits the list, and must not use it.
_idle: dict[int, list[_Reader]] = {}


def _answers(
    path: str, size: int, limits: FileLimits, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[tuple[bytes, bytes]]:
    idle = _idle.setdefault(os.getpid(), [])
    reader = idle.pop() if idle else _started()
    is_done = False
    seconds = limits.seconds_for(size)
    deadline = time.monotonic() + seconds
    try:
        try:
            reader.connection.send_bytes(pickle.dumps((limits.memory_bytes, function, arguments)))
            while not is_done:
                if not reader.connection.poll(max(0.0, deadline - time.monotonic())):
                    raise Refused(
                        path, beyond("deadline_s", f"reading it took more than {seconds:,.0f} seconds")
                    )
                kind = reader.connection.recv_bytes()
                data = reader.connection.recv_bytes()
                if kind == _ERROR:
                    error = pickle.loads(data)  # noqa: S301  # of our own process
                    # What a library is like after that is not known.
                    is_done = not isinstance(error, MemoryError)
                    if is_done:
                        raise error
                    what = f"reading it takes more than {limits.memory_bytes:,} bytes of memory"
                    raise Refused(path, beyond("memory_bytes", what))
                is_done = kind == _RESULT
                yield kind, data
        except (EOFError, BrokenPipeError, ConnectionResetError):
            is_done = True
            raise _death(path, reader) from None
        finally:
            if is_done and not reader.connection.closed:
                idle.append(reader)
    finally:
        if not is_done:
            reader.end()


def _death(path: str, reader: _Reader) -> Exception:
    number = reader.end()
    if number == signal.SIGKILL:
        # Not by us: by the system, as a rule for want of memory, which another run may have.
        return MemoryError(f"{path}: the process that read it was killed")
    name = signal.Signals(number).name if number else "it ended"
    return Refused(path, f"a library crashed on it ({name}); deliver it again")


def _started() -> _Reader:
    ours, its = Pipe()
    folder = tempfile.mkdtemp(prefix="geostrata-")
    # What is in the buffers would be written twice.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        its.close()
        return _Reader(pid, ours, folder)
    try:
        _serve(its, folder, parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _serve(connection: Connection, folder: str, parent: int) -> None:
    _close_sockets(connection.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(parent)
    tempfile.tempdir = folder
    while True:
        try:
            memory, function, arguments = pickle.loads(connection.recv_bytes())  # noqa: S301  # of our own parent
        except EOFError:
            return
        try:
            _limit_memory(memory)
            found = function(*arguments)
            if isinstance(found, Iterator):
                for batch in found:
                    connection.send_bytes(_BATCH)
                    connection.send_bytes(batch.serialize())
                found = None
            answer = (_RESULT, pickle.dumps(found))
        except BaseException as error:  # whatever it is, the parent must know
            answer = (_ERROR, _pickled(error))
        _limit_memory(None)
        for part in answer:
            connection.send_bytes(part)


def _close_sockets(own: int) -> None:
    """Those of its parent, for whose end somebody waits. Files stay open: libraries know them, as PROJ its database."""
    for number in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        with suppress(OSError):
            mode = os.fstat(number).st_mode
            if number >= _FIRST_FREE and number != own and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
                os.close(number)


def _pickled(error: BaseException) -> bytes:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301  # what we have just written
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


def _limit_memory(count: int | None) -> None:
    """So much beyond what the process has; only where the system can tell."""
    soft, hard = resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_DATA)[1]
    with suppress(OSError, ValueError):
        if count is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[5])
            soft = pages * resource.getpagesize() + count
        soft = (
            hard
            if hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard)
            else soft
        )
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _die_with(parent: int) -> None:
    """Linux only. Elsewhere it ends at its next word to a parent that is gone."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
