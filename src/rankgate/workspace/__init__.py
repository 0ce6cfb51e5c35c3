"""What stays: reports, records, alerts, schedules, and the server of a store."""
