"""The figures of the paper, drawn from cached predictions."""
