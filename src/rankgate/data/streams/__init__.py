"""Bytes in and out: files, compression, standard input, threads, journals."""
