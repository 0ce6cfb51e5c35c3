"""Results over time: reports, records, alerts, schedules, and the web server of a store."""
