"""The language in which values are asked for, parsed and evaluated over what was recorded: docs/expressions.md.

Who uses it imports the part that it needs: what was recorded is decoded with `integers` alone.
"""
