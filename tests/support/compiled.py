"""Code before a program's own: says on stderr what Numba compiles, if anything."""

COMPILED = """
import sys
from numba.core import event
class Listener(event.Listener):
    def on_start(self, event): print(event.data["dispatcher"].py_func.__qualname__, file=sys.stderr)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
"""
