"""The paper's tables and figures: what to run, what was published, and how to show both."""
