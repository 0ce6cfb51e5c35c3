"""The plug-in for pytest: a ranking gate among the tests."""
