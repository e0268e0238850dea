"""Writes the reference pages of docs/ from the code, so that they cannot fall behind it."""
