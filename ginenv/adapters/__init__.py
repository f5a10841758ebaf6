"""Adapters for other libraries. Each needs its library, and the rest of the package imports nothing from here."""
