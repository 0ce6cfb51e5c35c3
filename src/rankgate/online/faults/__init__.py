"""What is wrong with a log, and which figures it spoils."""
