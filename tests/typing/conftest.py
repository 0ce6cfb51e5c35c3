"""`public.py` has planted errors: type checkers read it, nothing imports it."""

collect_ignore = ["public.py"]
