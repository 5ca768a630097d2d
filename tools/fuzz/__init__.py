"""Feeding any bytes to every parser: by hypothesis in the tests, by coverage with atheris here."""
