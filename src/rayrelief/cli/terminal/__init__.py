"""The terminal: what is said on it, and the signals that come from it."""
