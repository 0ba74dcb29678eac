"""Hostile input on purpose: seeds, mutations, a watched process, and the cases that were found."""
