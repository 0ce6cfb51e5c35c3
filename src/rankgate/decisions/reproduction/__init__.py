"""Can a published comparison be reproduced: similarity of rankings, and the audit of a table."""
