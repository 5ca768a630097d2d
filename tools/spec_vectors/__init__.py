"""What ``tools/make_vectors.py`` writes: small datasets, their answers, and damaged ones."""
