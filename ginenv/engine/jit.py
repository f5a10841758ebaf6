"""The one decorator for compiled code, and the bit operations that compiled code needs.

Numba's own cache looks only at the file that defines a function: an edited helper in another module would leave stale
machine code behind. So the cache directory of every kernel is keyed on a hash of its module *and* of all project
modules that it imports, directly or not. Old directories are dropped after a month without use.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import inspect
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from types import FrameType
from typing import Any, ClassVar

import numba
import numpy as np
from llvmlite import ir
from numba._dynfunc import make_function
from numba.core import cgutils, config, event, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic

_PROJECT = ("ginenv", "agents")
_IMPORT = re.compile(rf"^\s*(?:from|import)\s+((?:{'|'.join(_PROJECT)})(?:\.\w+)*)(?:\s+import\s+\(?([^)#\n]*))?", re.M)
_KEEP_SECONDS = 30 * 86400


def _user_cache() -> Path:
    """The platform's directory for caches; not absolute for a user without a home directory."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else home / ".cache"


def cache_root() -> Path | None:
    """Directory of compiled code: ``$GINENV_CACHE_DIR``, else the user's cache, else a temporary directory.

    Loading compiled code executes it, so a directory in which anybody else may write is not used; None if none is left.
    """
    chosen = os.environ.get("GINENV_CACHE_DIR")
    candidates = [Path(chosen).absolute()] if chosen else []
    with contextlib.suppress(OSError):
        # gettempdir raises an error if it finds no directory that can be written.
        candidates = [*candidates, _user_cache() / "ginenv", Path(tempfile.gettempdir(), _user_name())]
    for candidate in candidates:
        with contextlib.suppress(OSError):
            if candidate.is_absolute() and _is_private(candidate):
                return candidate
    return None


def _user_name() -> str:
    # On Windows, directories for temporary files are each user's own, and so are the permissions of what is made there.
    return f"ginenv-{os.getuid()}" if hasattr(os, "getuid") else "ginenv"


def _is_private(directory: Path) -> bool:
    """Whether a directory, made if there is none, can be written by this user and by nobody else."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    # The entry itself: a link leads to wherever its owner likes.
    found = directory.lstat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return False
    return stat.S_ISDIR(found.st_mode) and os.access(directory, os.W_OK)


def _module_file(root: Path, name: str) -> Path | None:
    base = root.joinpath(*name.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def sources_of(path: Path, root: Path) -> set[Path]:
    """The file and every project file that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        for module, names in _IMPORT.findall(current.read_text(encoding="utf-8")):
            candidates = [module] + [
                f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",") if name.strip()
            ]
            waiting.extend(file for name in candidates if (file := _module_file(root, name)) is not None)
    return found


@cache
def _cache_dir(path: Path) -> str | None:
    """The directory of a module's compiled code; None if none can be made."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    for source in sorted(sources_of(path, root)):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    base = cache_root()
    if base is None:
        return None
    directory = base / f"{path.stem}-{digest.hexdigest()[:16]}"
    try:
        if not directory.exists():
            _drop_unused(base)
            directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)
    except OSError:
        return None
    return str(directory)


def _drop_unused(base: Path) -> None:
    oldest = time.time() - _KEEP_SECONDS
    for entry in base.iterdir():
        # Another process may drop the entry at the same time.
        with contextlib.suppress(OSError):
            if entry.is_dir() and entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True)


class _CacheImpl(CompileResultCacheImpl):
    # In Numba's other locations, such as beside the sources, compiled code would outlive an edit of what it imports.
    _locator_classes: ClassVar[Any] = [UserProvidedCacheLocator]


class _Cache(FunctionCache):
    """Numba's cache, except that a damaged file or a full disk costs a compilation and nothing worse."""

    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached code of a signature, or None."""
        try:
            loaded = super().load_overload(sig, target_context)
        except Exception:
            # Damaged bytes can make pickle raise anything. Without an index, everything is written anew.
            with contextlib.suppress(OSError):
                self.flush()
            return None
        # Two processes that start at the same time can give two signatures the same file.
        return loaded if loaded is None or tuple(loaded.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves compiled code, if there is room for it."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, UnpicklingError) as error:
            _say_once(f"compiled code cannot be kept ({error}); GINENV_CACHE_DIR names another directory for it")


@cache
def _say_once(words: str) -> None:
    print(f"ginenv: {words}", file=sys.stderr, flush=True)


class _Compiling(event.Listener):
    """Says once per process that compilation is under way, since the first one takes seconds; interrupts wait until it ends.

    The compiler is C++ code that calls back into Python. An exception raised there is dropped, and leaves half a kernel.
    """

    said = False
    depth = 0
    interrupted = False

    def on_start(self, event: Any) -> None:
        self.depth += _in_main_thread()
        dispatcher = event.data.get("dispatcher") if isinstance(event.data, dict) else None
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "") or ""
        if not self.said and module.split(".")[0] in _PROJECT:
            self.said = True
            print(
                "ginenv: compiling what is used for the first time (up to half a minute) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        """Raises the interrupt that waited."""
        self.depth -= _in_main_thread()
        if self.interrupted and not self.depth and _in_main_thread():
            self.interrupted = False
            _forget_alarm()
            raise KeyboardInterrupt


def _in_main_thread() -> bool:
    """Whether this is the main thread, the only one that handles signals."""
    return threading.current_thread() is threading.main_thread()


_compiling = _Compiling()
event.register("numba:compile", _compiling)


# In these modules Python runs under code that drops an exception or turns it into another: the compiler, and libraries that are
# being loaded.
_NOT_RAISED_IN = ("numba", "llvmlite", "_frozen_importlib", "importlib")


def interrupt(signum: int, frame: FrameType | None) -> None:
    """A signal handler that raises ``KeyboardInterrupt``; during a compilation or an import, it waits until that is done."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_RAISED_IN:
            _compiling.interrupted = True
            # Looks again later, in case this was not the compilation of a kernel, whose end is reported. A program that ends before
            # is not to be killed by the alarm, which Python no longer handles then.
            atexit.unregister(_forget_alarm)
            atexit.register(_forget_alarm)
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return
        frame = frame.f_back
    _compiling.interrupted = False
    raise KeyboardInterrupt


def _forget_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def take_interrupt() -> bool:
    """Whether an interrupt waits for a compilation or an import to end; the caller takes it over."""
    waiting, _compiling.interrupted = _compiling.interrupted, False
    if waiting:
        _forget_alarm()
    return waiting


class _PartLibrary(JITCodeLibrary):
    """Code that is only ever linked into its callers: it stays as it was generated, without optimisation or machine code."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Links without the passes over single functions, since the passes over the caller's whole module do the same."""
        self._final_module.link_in(ll_module)

    def _optimize_final_module(self) -> None:
        """Does nothing: this code is optimised with the caller's module."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _EntryCompiler(Compiler):
    """Compiles a function that Python calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compiles as usual, but without garbage collection: the compiler's many objects live until it is done."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class _PartCompiler(Compiler):
    """Compiles a function to be a part of its callers."""

    def compile_extra(self, func: Any) -> Any:
        """Compiles as usual, but into a ``_PartLibrary``; the entry by which compiled callers find it has no code of its own."""
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), func.__qualname__)
        state.flags.no_compile = True
        made = super().compile_extra(func)
        name, library = made.fndesc.qualname, made.library
        entry = make_function(made.fndesc.lookup_module(), name, "", 0, made.environment, (library,))
        state.targetctx.insert_user_function(entry, made.fndesc, [library])
        return made._replace(entry_point=entry)


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True}
_ENTRY_OPTIONS: Any = _OPTIONS | {"pipeline_class": _EntryCompiler}
_PART_OPTIONS: Any = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function to machine code, without bounds checks, with a cache that is never stale.

    Callers validate first: a bad index inside a kernel raises no error but corrupts the process.

    Numba by itself would make machine code of every function that a kernel calls, each time with everything that it calls in turn.
    Only the code that Python calls is ever run, yet for the hundred functions below an environment's step this takes most of the
    time. Here a kernel that another kernel calls becomes a part of it, and is optimised there once.
    """
    # Numba cannot compile a caller of a generator that it loaded from its cache; the callers' cached code holds a copy of it.
    cached = not inspect.isgeneratorfunction(function)
    called_by_python = numba.njit(**_ENTRY_OPTIONS)(function)  # type: ignore[call-overload]
    directory = _cache_dir(Path(function.__code__.co_filename).resolve()) if cached else None
    if directory is not None:
        before = config.CACHE_DIR  # type: ignore[attr-defined]
        config.CACHE_DIR = directory  # type: ignore[attr-defined]
        try:
            called_by_python._cache = _Cache(function)  # type: ignore[attr-defined]
        except (OSError, RuntimeError):
            # The directory cannot be written after all.
            pass
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]
    part = numba.njit(**_PART_OPTIONS)(function)
    # The methods through which compiled callers find a function.
    called_by_python.get_call_template, called_by_python.get_overload = part.get_call_template, part.get_overload
    return called_by_python


@intrinsic
def _popcount(typingctx: Any, value: Any) -> Any:
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def _ctz(typingctx: Any, value: Any) -> Any:
    zero_is_defined = ir.Constant(ir.IntType(1), 0)
    return types.int64(types.int64), lambda context, builder, signature, args: builder.cttz(args[0], zero_is_defined)


# Typed as Any: callers pass one number, but a type checker would see the compiler's own arguments.
popcount: Any = _popcount  # the number of set bits of an int64
ctz: Any = _ctz  # the index of the lowest set bit of an int64 (64 for 0)


@intrinsic
def _store_cards(typingctx: Any, array: Any, offset: Any, cards: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, place_number = ir.IntType(8), ir.IntType(32)
        row_type = ir.VectorType(byte, 52)
        # Repeats every byte of the mask eight times, and tests one bit of each copy.
        parts = builder.bitcast(args[2], ir.VectorType(byte, 8))
        lanes = ir.Constant(ir.VectorType(place_number, 52), [card // 8 for card in range(52)])
        bits = ir.Constant(row_type, [1 << card % 8 for card in range(52)])
        found = builder.and_(builder.shuffle_vector(parts, parts, lanes), bits)
        row = builder.zext(builder.icmp_unsigned("!=", found, ir.Constant(row_type, [0] * 52)), row_type)
        place = builder.gep(builder.bitcast(target, ir.IntType(8).as_pointer()), [args[1]])
        store = builder.store(row, builder.bitcast(place, row.type.as_pointer()))
        store.align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


# store_cards(array, offset, cards): writes a mask as 52 bytes of 0 and 1 at a byte offset of a C-contiguous uint8 array. As one
# vector operation this costs a nanosecond; a loop over the cards costs some twenty.
store_cards: Any = _store_cards


def record_copy(target: np.dtype, target_field: str, source: np.dtype, source_field: str, last_field: str) -> Any:
    """An intrinsic ``copy(target, source)`` that copies a stretch of fields between two records as one block.

    Numba copies nested arrays element by element through generic code. If both records hold the same fields in the same
    order, a block copy is some fifty nanoseconds faster.

    Args:
        target: dtype of the record written to.
        target_field: first field of the stretch there.
        source: dtype of the record read from.
        source_field: first field of the stretch there.
        last_field: last field of the stretch, in both.
    """
    into_fields: Any = target.fields
    from_fields: Any = source.fields
    target_start, source_start = into_fields[target_field][1], from_fields[source_field][1]
    size = into_fields[last_field][1] + into_fields[last_field][0].itemsize - target_start
    assert from_fields[last_field][1] - source_start == into_fields[last_field][1] - target_start, (
        "the stretches differ"
    )

    @intrinsic
    def copy(typingctx: Any, into: Any, out_of: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            byte_pointer = ir.IntType(8).as_pointer()
            offset = ir.IntType(64)
            to = builder.gep(builder.bitcast(args[0], byte_pointer), [ir.Constant(offset, target_start)])
            source_pointer = builder.gep(builder.bitcast(args[1], byte_pointer), [ir.Constant(offset, source_start)])
            cgutils.raw_memcpy(builder, to, source_pointer, ir.Constant(offset, size), 1)
            return context.get_dummy_value()

        return types.void(into, out_of), generate

    return copy


# Records by place, for compiled loops. Compiled functions take a record as one pointer. An array is a structure of many words whose
# references are counted at every call; this costs the helpers of hot loops some thirty nanoseconds.


def row_record(dtype: np.dtype) -> Any:
    """An intrinsic ``row(array, i)``: row ``i`` of a C-contiguous array, whose rows have the record's size, as a record."""
    record = numba.from_dtype(dtype)
    size = dtype.itemsize

    @intrinsic
    def row(typingctx: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            word = ir.IntType(64)
            offset = builder.mul(args[1], ir.Constant(word, size))
            place = builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [offset])
            return builder.bitcast(place, context.get_value_type(record))

        return record(array, types.int64), generate

    return row


def record_at(dtype: np.dtype) -> Any:
    """An intrinsic ``at(address)``: the record at an address."""
    record = numba.from_dtype(dtype)

    @intrinsic
    def at(typingctx: Any, address: Any) -> Any:
        return record(types.int64), lambda context, builder, signature, args: builder.inttoptr(
            args[0], context.get_value_type(record)
        )

    return at


# 2**64 divided by the golden ratio: the step of the Weyl sequences whose words are mixed.
_GOLDEN = 0x9E3779B97F4A7C15


@kernel
def mix(value):
    """A well-mixed 64-bit hash of a 64-bit word (the finaliser of SplitMix64, Steele et al. 2014)."""
    x = np.uint64(value) + np.uint64(_GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def next_word(seed):
    """The next state and random word of a stream: adds a constant, then mixes lightly."""
    seed = np.uint64(seed) + np.uint64(_GOLDEN)
    return seed, (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)


@kernel
def below(word, bound):
    """A number in [0, bound) from a random 64-bit word (multiply and shift; bias below bound / 2**32)."""
    return np.int64(((np.uint64(word) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
