"""Results over time: reports, records, alerts, schedules, and the server of a store."""
