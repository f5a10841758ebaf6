"""The environments in the interfaces of other libraries; each module needs the extra of its name."""
