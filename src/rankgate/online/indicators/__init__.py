"""KPIs of searches, clicks, sessions and users: declared expressions over tables of events."""
