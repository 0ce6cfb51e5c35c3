"""Language models as raters of a store: identity, jobs, admission, new runs."""
