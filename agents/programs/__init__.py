"""Players in other processes: programs that speak the line protocol (docs/protocol.md)."""
