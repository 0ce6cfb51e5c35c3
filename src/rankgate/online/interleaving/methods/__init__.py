"""One file for each interleaving method; what is here is in the command line and the manual."""
