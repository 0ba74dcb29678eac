"""Static pictures of a result."""
