"""Score runs against judgments; metrics, conventions, trec_eval, accumulation over batches."""
