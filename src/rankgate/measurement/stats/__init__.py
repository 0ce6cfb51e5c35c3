"""Numbers in, frozen results out: tests, intervals, power, reliability, agreement."""
