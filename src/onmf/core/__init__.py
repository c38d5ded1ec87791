"""The mathematics: NumPy and SciPy only. Read it with the paper in hand."""
