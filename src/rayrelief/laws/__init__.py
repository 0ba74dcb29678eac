"""Laws: how much an edge weighs and what it asks for, given the surface so far."""
