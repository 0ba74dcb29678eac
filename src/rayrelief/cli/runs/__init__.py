"""From a scene to files: one run, many, and what is told about them."""
