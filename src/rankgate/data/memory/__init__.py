"""Tables that are in memory already: dicts, frames, arrays and matrices."""
