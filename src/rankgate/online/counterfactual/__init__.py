"""A candidate ranking scored on logged clicks, before a user sees it."""
