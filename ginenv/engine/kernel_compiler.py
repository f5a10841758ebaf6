"""A compiler of kernels that is several times as fast as Numba's decorator, made of Numba's private classes.

A release of Numba may rename or change these, so the package says with which releases it works; nothing but ``ginenv.engine.jit``
imports this module.

Numba by itself would make machine code of every function that a kernel calls, each time with everything that it calls in turn.
Only the code that Python calls is ever run, yet for the hundred functions below an environment's step this takes most of the time.
Here a kernel that another kernel calls becomes a part of it, and is optimised there once.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar

import numba
from numba._dynfunc import make_function
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from ginenv.engine.kernel_cache import is_private
from ginenv.engine.shipped_kernels import load_shipped

# Options for code without wrappers that only C calls.
_ENTRY_OPTIONS: Any = {"no_cfunc_wrapper": True}
_PART_OPTIONS: Any = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}

# Compiling is announced once it has taken this long.
_SILENT_SECONDS = 0.4
_COMPILING = (
    "compiling what is used for the first time, once after an installation ('gin warm' compiles everything) ..."
)


class _PrivateLocator(UserProvidedCacheLocator):
    def ensure_cache_path(self) -> None:
        """Makes the directory for this user alone; refuses one that others may write."""
        path = self.get_cache_path()
        if not is_private(Path(path)):
            raise PermissionError(f"others may write {path}")
        super().ensure_cache_path()


class _CacheImpl(CompileResultCacheImpl):
    # In Numba's other locations, such as beside the sources, compiled code would outlive an edit of what it imports.
    _locator_classes: ClassVar[Any] = [_PrivateLocator]


class _Cache(FunctionCache):
    """Numba's cache, except that a damaged file or a full disk costs a compilation and nothing worse."""

    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached code of a signature, or None."""
        try:
            loaded = super().load_overload(sig, target_context)
        except Exception:
            # Damaged bytes can make pickle raise anything. Without an index, everything is written again.
            with contextlib.suppress(OSError):
                self.flush()
            loaded = None
        # Two processes that start at the same time can give two signatures the same file.
        if loaded is not None and tuple(loaded.signature.args) == tuple(sig):
            return loaded
        return load_shipped(self._py_func, sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves compiled code, if there is room for it."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, UnpicklingError) as error:
            _warn_once(f"compiled code cannot be kept ({error}); GINENV_CACHE_DIR names another directory for it")


@cache
def _warn_once(message: str) -> None:
    print(f"ginenv: {message}", file=sys.stderr, flush=True)


class _Announcement(event.Listener):
    """Says once per process that kernels are compiled, as soon as this has taken so long that somebody may wonder.

    Numba compiles one function at a time, whichever threads ask for it; what it calls is compiled within.
    """

    def __init__(self) -> None:
        self.depth, self.seconds, self.began = 0, 0.0, 0.0
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Sets a clock, unless a kernel is being compiled already."""
        dispatcher = event.data.get("dispatcher") if isinstance(event.data, dict) else None
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "") or ""
        self.depth += 1
        if self.depth == 1 and module.partition(".")[0] in ("ginenv", "agents"):
            self.began = time.monotonic()
            self.timer = threading.Timer(max(0.0, _SILENT_SECONDS - self.seconds), _warn_once, (_COMPILING,))
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stops the clock."""
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.seconds += time.monotonic() - self.began


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


def compile_kernel(function: Callable[..., Any], directory: str | None, options: dict[str, Any]) -> Any:
    """A dispatcher, like the one that ``numba.njit(**options)`` makes.

    Args:
        function: the function.
        directory: where its code is kept; None if it is not.
        options: options of ``numba.njit``.
    """
    entry: Any = numba.njit(pipeline_class=_EntryCompiler, **_ENTRY_OPTIONS, **options)(function)
    if directory is not None:
        entry._cache = _Cache(function)
    part: Any = numba.njit(pipeline_class=_PartCompiler, **_PART_OPTIONS, **options)(function)
    # The methods through which compiled callers find a function.
    entry.get_call_template, entry.get_overload = part.get_call_template, part.get_overload
    return entry


event.register("numba:compile", _Announcement())
