"""Maps in blocks: rate, error, seams, memory, and the cost on many machines."""
