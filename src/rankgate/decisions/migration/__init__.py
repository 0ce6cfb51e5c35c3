"""Migration of an index: what it lost without labels, and a bound of the loss from few judgments."""
