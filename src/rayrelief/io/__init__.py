"""Files on disk to plain arrays and back: one module per format family, no cameras."""
