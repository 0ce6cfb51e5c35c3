"""Files of products: tools for judging, search engines, judges that are models."""
