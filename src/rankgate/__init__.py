"""rankgate says whether a ranking got better, with a number you can defend."""
