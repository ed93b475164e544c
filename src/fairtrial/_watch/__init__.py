"""Does it stay fair? Verdicts that hold however often one looks."""
