"""Curves that justify the constants of ordered integration, on the built-in scenes alone."""
