"""Skills, instructions and memory that the working folder and its user add to an agent at the terminal."""
