"""`python -m strobe`: the same as the `strobe` executable."""

from strobe.cli.main import main

main()
