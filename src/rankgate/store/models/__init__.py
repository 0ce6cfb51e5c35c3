"""Language models as raters: their jobs, answers, admissions, and rules for new runs."""
