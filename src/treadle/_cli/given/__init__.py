"""What an agent at the terminal is given by the folder it works in and by its user: skills, instructions."""
