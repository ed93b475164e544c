"""Studies: every table and figure of the five papers, computed again beside what is printed.

A study is a module named as its paper's room. Its `ITEMS` has a function for each table and figure, by which
`fairtrial.papers.<paper>.reproduce` computes one, and its `write` makes the whole page in the documentation:

    python -m fairtrial.papers._studies elfa --full --out docs/papers
"""
