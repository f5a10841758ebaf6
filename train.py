"""Trains an agent by self-play and exports it as a checkpoint: ``gin train`` without installing anything.

``python train.py --config configs/quick.yaml --out runs/quick`` trains, or continues if the directory holds a resume file. It leaves
the checkpoints ``best`` and ``last`` there, which ``evaluate.py`` takes by their path. Settings of the config can be changed on the
command line: ``--set learning_rate=5e-4 network.actor=[512,512]``.
"""

from __future__ import annotations

import sys

from agents.cli import run

if __name__ == "__main__":
    run("train.py", "train", sys.argv[1:])
