"""Environments in worker processes: `ovde.train(..., workers=4)`.

A pool distributes the environments over its processes; each environment has a thread there and a socket to this
process. The processes are started anew, not forked, and get the factory by value, so that a script needs no
`if __name__ == "__main__"`.
"""

from __future__ import annotations

import itertools
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any, Optional

import numpy as np

from ._gym import Adapter, Source, SourceAdapter, flat

_RESET, _STEP, _SAVE, _RESTORE = b"r", b"s", b"p", b"u"
_DONE, _FAILED = b"o", b"x"
_OUTCOME = struct.Struct("<dBBB")  # reward, terminated, truncated, success: 2 for None


def _pickler() -> Any:
    """cloudpickle, which comes with Gymnasium and can pickle lambdas; else the standard library's."""
    try:
        import cloudpickle
    except ImportError:
        return pickle
    return cloudpickle


class RemoteError(RuntimeError):
    """An exception of an environment in a worker process; its text is the traceback."""


class Pool:
    """Worker processes for the environments of one source."""

    def __init__(self, source: Source, processes: int):
        payload = _pickler().dumps(source)
        self._source = source
        self._controls: list[socket.socket] = []
        self._processes: list[subprocess.Popen] = []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        for _ in range(processes):
            here, there = socket.socketpair()
            command = [sys.executable, "-c", "from ovde._workers import serve; serve()", str(there.fileno()), *sys.argv]
            self._processes.append(subprocess.Popen(command, pass_fds=[there.fileno()], env=environment))
            there.close()
            here.sendall(struct.pack("<Q", len(payload)) + payload)
            self._controls.append(here)
        self._next = itertools.count()

    def adapter(self) -> "RemoteAdapter":
        return RemoteAdapter(self, self._source)

    def connect(self) -> Connection:
        """A connection to a new environment, in the next process."""
        control = self._controls[next(self._next) % len(self._controls)]
        here, there = socket.socketpair()
        with there:
            socket.send_fds(control, [b"e"], [there.fileno()])
        return Connection(here.detach())

    def kill(self) -> None:
        for process in self._processes:
            process.kill()

    def close(self) -> None:
        for control in self._controls:
            control.close()
        for process in self._processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:  # a step that does not return
                process.kill()
                process.wait()


class RemoteAdapter(SourceAdapter):
    """An Adapter whose environment is in a worker process, where it is made at its first reset."""

    def __init__(self, pool: Pool, source: Source):
        super().__init__(source)
        self._pool = pool
        self._connection: Optional[Connection] = None

    def _ask(self, request: bytes) -> memoryview:
        if self._connection is None:
            self._connection = self._pool.connect()
        try:
            self._connection.send_bytes(request)
            reply = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise RemoteError("the worker process of the environment has ended") from error
        if reply[:1] == _FAILED:
            exception, text = pickle.loads(reply[1:])
            if exception is None:
                raise RemoteError(text)
            raise exception from RemoteError("\n" + text)
        return memoryview(reply)[1:]

    def begin(self, seed: int) -> np.ndarray:
        return np.frombuffer(self._ask(_RESET + struct.pack("<Q", seed)))

    def advance(self, action: np.ndarray) -> tuple:
        reply = self._ask(_STEP + action.tobytes())
        reward, terminated, truncated, success = _OUTCOME.unpack_from(reply)
        told = bool(success) if success < 2 else None
        return np.frombuffer(reply[_OUTCOME.size :]), reward, bool(terminated), bool(truncated), told

    def save(self) -> Optional[bytes]:
        if self.source.unsaved_because is not None or self._connection is None:
            return None
        return bytes(self._ask(_SAVE))

    def restore(self, state: bytes) -> bool:
        why = bytes(self._ask(_RESTORE + state)).decode()
        if why:
            self.source.lost_because = why
        return not why

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# ---- in the worker process


def _answer(adapter: Adapter, request: bytes) -> bytes:
    what, rest = request[:1], request[1:]
    if what == _STEP:
        observation, *outcome, success = adapter.advance(np.frombuffer(rest).copy())
        return _OUTCOME.pack(*outcome, 2 if success is None else success) + flat(observation).tobytes()
    if what == _RESET:
        return flat(adapter.begin(struct.unpack("<Q", rest)[0])).tobytes()
    if what == _SAVE:
        return adapter.save() or b""
    return b"" if adapter.restore(rest) else (adapter.source.lost_because or "").encode()


def _failure(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        payload = pickle.dumps((error, text))
        pickle.loads(payload)  # some exceptions can be pickled, but not unpickled
    except Exception:
        payload = pickle.dumps((None, text))
    return _FAILED + payload


def _serve_one(source: Source, connection: Connection) -> None:
    adapter = Adapter(source)
    while True:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            break
        try:
            reply = _DONE + _answer(adapter, request)
        except BaseException as error:  # sys.exit() too: this process serves other environments
            reply = _failure(error)
        connection.send_bytes(reply)
    adapter.close()
    connection.close()


def serve() -> None:
    """The main loop of a worker process: a thread for each environment, until the pool is closed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.argv = sys.argv[2:]  # those of the parent process, which an environment may read
    size = struct.unpack("<Q", control.recv(8, socket.MSG_WAITALL))[0]
    source = pickle.loads(control.recv(size, socket.MSG_WAITALL))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            break
        connection = Connection(descriptors[0])
        threading.Thread(target=_serve_one, args=(source, connection), daemon=True).start()
