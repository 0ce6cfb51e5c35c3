"""One object for each off-policy estimator; what is here is in the command line and the manual."""
