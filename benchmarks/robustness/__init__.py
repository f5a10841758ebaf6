"""What breaks: interrupts, and growth over hours."""
