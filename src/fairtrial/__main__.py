"""`python -m fairtrial`: the command line."""

from fairtrial.cli import main

if __name__ == "__main__":
    main()
