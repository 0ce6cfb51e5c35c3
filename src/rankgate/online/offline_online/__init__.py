"""Do offline metrics predict what users do? Over past experiments, or over queries of a log."""
