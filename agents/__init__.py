"""Players of gin rummy, and how they learn, compete and are searched for."""
