"""Methods: recipes over one loop."""
