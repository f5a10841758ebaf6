"""Players of gin rummy, and how they learn, search and compete."""
