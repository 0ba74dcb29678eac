"""Folders and files to scenes: readers only, no equations."""
