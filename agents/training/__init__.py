"""How networks are trained: rollouts, losses, the training loop, what a run resumes from and what it reports."""
