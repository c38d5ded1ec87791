"""Kills, races and hostile files, by a new seed each time: `make attack`."""
