"""The client of mpsweep for Python: what a program calls to be measured in every layout of
processes and threads (mpsweep sweep ... -- python3 serve.py; see mpsweep_client(3)).

    import mpsweep
    ...load the model, use the GPU once...
    mpsweep.ready()
    while mpsweep.running():
        with mpsweep.iteration():
            ...one iteration...

Each of the MPSWEEP_THREADS threads of a process does that on its own. With --streams a thread has
MPSWEEP_STREAMS workers, and serves all of them, for example in an event loop:

    async def serve(worker):
        while worker.running():
            async with worker:
                ...enqueue one iteration; await its end...
    for worker in mpsweep.workers():
        worker.ready()
    ...run serve(worker) for each of mpsweep.workers()...

In a program that mpsweep has
not started nothing is measured, no library is loaded, and running() is true for ever. This one file
needs nothing but Python 3.6 and libmpsweep-client.so.1, which mpsweep names to it.
"""
import ctypes
import os
import threading

__all__ = ["Worker", "worker", "workers", "is_measured", "ready", "iteration", "begin", "end", "running", "check",
           "fail", "close", "thread_count", "stream_count", "process_count", "process_number", "seed"]

_ABI = 1
_NEXT_THREAD = -1
# As in mpsweep/client.h: what its functions return.
_NOT_YET, _OVER, _GO_ON, _LAYOUT_OVER = -1, 0, 1, 2
_functions = None
_functions_lock = threading.Lock()
_local = threading.local()


def _number(name, otherwise):
    return int(os.environ.get(name, otherwise))


def is_measured():
    """Whether mpsweep has started this program."""
    return "MPSWEEP_CLIENT" in os.environ


def process_count():
    """Processes of the layout."""
    return _number("MPSWEEP_PROCESSES", 1)


def process_number():
    """Which of them this one is, from 0."""
    return _number("MPSWEEP_PROCESS", 0)


def thread_count():
    """Threads that each process is to have, each with stream_count() workers of its own."""
    return _number("MPSWEEP_THREADS", 1)


def stream_count():
    """Workers of each thread, each with an iteration in flight."""
    return _number("MPSWEEP_STREAMS", 1)


def seed():
    """For random numbers: the same in all processes of a layout."""
    return _number("MPSWEEP_SEED", 0)


def _library():
    """mpsweep names its own. A wheel has one beside this file, for a program that cannot see that."""
    named = os.environ.get("MPSWEEP_CLIENT_LIBRARY", "libmpsweep-client.so.1")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libmpsweep-client.so.1")
    return beside if os.path.exists(beside) and not os.path.exists(named) else named


class _Functions:
    """The library's functions: what may wait gives Python's lock away, what is quick keeps it."""

    def __init__(self):
        name = _library()
        try:
            waiting, quick = ctypes.CDLL(name), ctypes.PyDLL(name)
            found = waiting.mpsweep_client_abi()
        except (OSError, AttributeError) as error:
            raise RuntimeError("mpsweep.py cannot load '%s' (MPSWEEP_CLIENT_LIBRARY names it): %s"
                               % (name, error)) from None
        if found != _ABI:
            raise RuntimeError("mpsweep.py is for version %d of libmpsweep-client, and '%s' is "
                               "version %d: use both from the same release" % (_ABI, name, found))
        handle = ctypes.c_void_p
        self.open = self._function(waiting, "mpsweep_open_abi", handle,
                                   [ctypes.c_uint, ctypes.c_int])
        self.ready = self._function(waiting, "mpsweep_ready", ctypes.c_int, [handle])
        self.begin = self._function(waiting, "mpsweep_begin", ctypes.c_int, [handle])
        self.close = self._function(waiting, "mpsweep_close", None, [handle])
        self.try_begin = self._function(quick, "mpsweep_try_begin", ctypes.c_int, [handle])
        self.end = self._function(quick, "mpsweep_end_or_hold", ctypes.c_int, [handle])
        self.cancel = self._function(quick, "mpsweep_cancel", None, [handle])
        self.stop_requested = self._function(quick, "mpsweep_stop_requested", ctypes.c_int,
                                             [handle])
        self.fail = self._function(quick, "mpsweep_fail", None, [handle, ctypes.c_char_p])
        self.bind = self._function(quick, "mpsweep_bind", ctypes.c_int, [handle])

    @staticmethod
    def _function(library, name, result, arguments):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
        return function


def _load():
    global _functions
    with _functions_lock:
        if _functions is None:
            _functions = _Functions()
    return _functions


if "MPSWEEP_CLIENT" in os.environ:
    # At once: mpsweep observes a program that has not loaded it when CUDA starts. What is wrong
    # with it is the error of the first use.
    try:
        _load()
    except RuntimeError:
        pass


class _Turn:
    """What an event loop takes as: the others first."""

    __slots__ = ()

    def __await__(self):
        yield


class Worker:
    """What one thread, or one of its streams, measures with: `with worker:` is an iteration, and
    `async with worker:` is one that leaves the thread to others until it may begin."""

    __slots__ = ("_functions", "_handle", "_argument", "_try_begin", "_end", "_over",
                 "_held")

    def __init__(self, thread=_NEXT_THREAD):
        """Opens handle number `thread` of this process; by default the calling thread's next one."""
        self._functions = self._handle = None
        self._over = False
        self._held = False  # until another layout begins
        if not is_measured():
            return
        functions = _load()
        handle = functions.open(_ABI, thread)
        if not handle:
            raise RuntimeError("mpsweep: no handle for this thread; the reason stands above")
        self._functions = functions
        self._handle = handle
        self._argument = ctypes.c_void_p(handle)
        self._try_begin = functions.try_begin
        self._end = functions.end

    def ready(self):
        """Reports that it could serve; the last worker of a thread waits for the common start.
        False: it is over."""
        if self._handle and not self._functions.ready(self._argument):
            self._over = True
        return not self._over

    def begin(self):
        """Begins an iteration. False: enough was measured, and the program is to end."""
        if self._handle is None:
            return True
        begun = self._try_begin(self._argument)
        if begun == _GO_ON:
            return True
        if begun == _NOT_YET and self._functions.begin(self._argument):
            return True
        self._over = True
        return False

    def try_begin(self):
        """The same without a wait: None where begin() would."""
        if self._handle is None:
            return True
        begun = self._try_begin(self._argument)
        if begun == _OVER:
            self._over = True
        return None if begun == _NOT_YET else bool(begun)

    def end(self):
        """Ends it. False as in begin()."""
        if self._handle is not None:
            answer = self._end(self._argument)
            if answer != _GO_ON:
                self._note_end(answer)
        return not self._over

    def _note_end(self, answer):
        self._held = answer == _LAYOUT_OVER
        self._over = answer == _OVER

    def __enter__(self):
        if self._handle is not None and self._try_begin(self._argument) != _GO_ON:
            self.begin()
        return self

    def __exit__(self, kind, value, trace):
        if self._handle is None:
            return
        if kind is not None:
            self._functions.cancel(self._argument)
        else:
            answer = self._end(self._argument)
            if answer != _GO_ON:
                self._note_end(answer)

    async def __aenter__(self):
        while self.try_begin() is None:
            await _Turn()
        return self

    async def __aexit__(self, kind, value, trace):
        self.__exit__(kind, value, trace)

    def running(self):
        """Whether more iterations follow. Looks at the answers that begin and end got; between two
        layouts it waits, unless the thread has several workers: those wait in `async with`."""
        if self._held:
            self._held = False
            if stream_count() == 1:
                self.ready()
        return not self._over

    def stop_requested(self):
        """Looks now: for loops that do not begin iterations all the time. Within an iteration it is
        about this layout, else about all."""
        answer = self._functions.stop_requested(self._argument) if self._handle else 0
        if answer and answer != _LAYOUT_OVER:
            self._over = True
        return self._over or answer != 0

    def fail(self, text):
        """Something is wrong: the layout gets no number."""
        if self._handle:
            self._functions.fail(self._argument, str(text).encode())
            self._over = True

    def check(self, good, text="wrong result"):
        """The same if a result is not good. Returns whether it is."""
        if not good:
            self.fail(text)
        return bool(good)

    def bind(self):
        """Binds the calling thread to the CPUs that were planned for it. 0 or an errno."""
        return self._functions.bind(self._argument) if self._handle else 0

    def close(self):
        """The last call; before mpsweep has asked to stop, it is a failure."""
        if self._handle:
            self._functions.close(self._argument)
            self._handle = None
            self._over = True


def worker():
    """The calling thread's own worker, opened at its first use."""
    try:
        return _local.worker
    except AttributeError:
        _local.worker = Worker()
        return _local.worker


def workers():
    """All workers of the calling thread, one for each of its streams, opened at their first use."""
    try:
        return _local.workers
    except AttributeError:
        first = worker()
        _local.workers = [first] + [Worker() for _ in range(1, stream_count())]
        return _local.workers


iteration = worker


def ready():
    return worker().ready()


def begin():
    return worker().begin()


def end():
    return worker().end()


def running():
    return worker().running()


def check(good, text="wrong result"):
    return worker().check(good, text)


def fail(text):
    worker().fail(text)


def close():
    worker().close()
