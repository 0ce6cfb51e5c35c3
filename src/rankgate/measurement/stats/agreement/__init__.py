"""Agreement of raters: coefficients, their intervals, and the model of Dawid and Skene."""
