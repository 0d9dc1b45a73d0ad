"""The study on local models: the task sets and rows of the leaderboard, through Treadle and other engines."""
