"""Videos of every kind that encoders make: their content, the encoder settings, the files."""
