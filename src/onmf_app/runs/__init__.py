"""What the subcommands do between reading options and printing: inputs, results, files."""
