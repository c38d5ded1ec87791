"""What is minimised: the losses, their assignments and alternations."""
