"""Sign-in by OpenID Connect: a team's own accounts instead of rankgate passwords."""
