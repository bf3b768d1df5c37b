"""`commonplace doctor`: everything that can be checked without changing anything, each with its mend."""
