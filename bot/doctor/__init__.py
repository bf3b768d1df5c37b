"""`commonplace doctor`: checks that change nothing, each with a fix."""
