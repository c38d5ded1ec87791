"""A web server on this machine for tests: files by name, with a password and a token if asked."""

USER, PASSWORD, TOKEN = "me", "p%40ss", "s3cr3t/sig="  # the password as an address has it
