"""Ordered integration: intervals, a convex start, and segments that touch."""
