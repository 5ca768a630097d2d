"""The picture index: its schema, how it is made from access units, and what a read needs of it. Pure."""
