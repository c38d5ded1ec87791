"""The paper: penalties, steps, PALM, the growing penalty and the starts, equation by equation."""
