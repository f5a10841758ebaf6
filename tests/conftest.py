"""One thread for matrices: tests run in several processes, and threads that wait for a busy core take longer than small batches."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
