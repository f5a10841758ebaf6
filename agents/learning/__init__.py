"""How networks are trained: rollouts, losses, the loop, what a run resumes from and what it tells."""
