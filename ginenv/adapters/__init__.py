"""Faces for other libraries; each needs its library, and nothing here is imported by the rest of the package."""
