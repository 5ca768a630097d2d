"""A columnar dataset format for video that models train on."""
