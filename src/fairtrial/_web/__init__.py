"""The trial in a browser, on this machine: from a file to a verdict, and a look at every number beside it.

Nothing leaves the machine: the page loads nothing from elsewhere, and the server answers this machine alone unless it
is told otherwise.
"""
