"""From numbers to decisions: comparison, the gate, and what limits both."""
